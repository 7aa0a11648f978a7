"""Where tests are: a folder of tests has the path of the package that it tests, or is one of the few named here."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Folders about more than one package.
SUBJECTS = {
    "attacks": "files and models that would do harm",
    "core": "the modules beside graphir's packages: graph, tensor, types, padding",
    "coverage": "inferred shapes against the true ones",
    "devices": "GPUs and other providers of onnxruntime",
    "docs": "the pages' code blocks and words",
    "equivalence": "the cases of MXNet's operators, which live MXNet, the reference and ONNX compute",
    "faults": "faults planted in models, which a verification must find",
    "fuzz": "mutated files, random symbols and networks",
    "models": "whole networks, whole ways",
    "tensorflow": "the cases of TensorFlow's operators and Keras's layers, which live TensorFlow computes",
}
# Folders in a mirror whose files are one kind of a package's tests.
PARTS = {
    "converters/mxnet/export_rows", "converters/mxnet/mx/scripts", "converters/mxnet/rare", "converters/mxnet/two",
    "serial/data",
}  # fmt: skip


def list_folders() -> set[str]:
    """Return the folders below tests/ that hold tracked files."""
    command = ["git", "-C", str(ROOT), "ls-files", "tests"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {str(Path(name).parent.relative_to("tests")) for name in listed} - {"."}


def test_a_folder_of_tests_mirrors_a_package() -> None:
    folders = list_folders()
    mirrors = {name for name in folders if (ROOT / "graphir" / name).is_dir() or (ROOT / name).is_dir()}
    others = {name for name in folders - mirrors if name.partition("/")[0] not in SUBJECTS}
    assert others == PARTS
    assert {name.partition("/")[0] for name in folders} >= set(SUBJECTS)


def test_the_contributors_page_names_the_other_folders() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [name for name in SUBJECTS if f"`{name}/`" not in page] == []

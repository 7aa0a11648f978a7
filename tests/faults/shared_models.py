"""Every model of the folder `shared` against itself and against its conversion; `python -m tests.faults.shared_models`
prints a line each."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphir
from graphir.errors import GraphirError
from graphir.verification.report import VerificationReport
from tests.models.judge import import_model
from tests.models.test_shared_models import load_rand_param, parameters
from tests.requirements import shared_folder
from tests.typed import present

KINDS = {
    "mxnet": "model-symbol.json", "mxnet_symbol_only": "model-symbol.json", "onnx": "model.onnx", "tf": "frozen.pb"
}
# Of a network that its golden file could not run: sizes that fit together.
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "mxnet_symbol_only/xdl-blaze-din": {
        "ncomm": (4, 360), "comm": (2, 540), "indicator": (4,), "att_comm": (2, 1800, 18),
        **{f"dice_gamma_{layer}": (1, 1) for layer in range(1, 6)},
    }
}


@dataclass(frozen=True)
class Real:
    """A model of the folder, with what `convert` and `verify` need to be told of it."""

    name: str
    path: Path
    given: dict[str, Any]

    def conversion(self, folder: Path) -> Path:
        """The model as ONNX. Raises what `convert` raises."""
        target = folder / "converted.onnx"
        graphir.convert(self.path, target, **self.given)
        return target

    def against_itself(self) -> VerificationReport:
        """An ONNX file against itself; a model of another framework, whose reading is a conversion, as read twice."""
        if self.path.suffix == ".onnx":
            return graphir.verify(self.path, self.path)
        graph = graphir.load(self.path, **self.given)
        return graphir.verify(graph, graph)

    def against_conversion(self, folder: Path) -> VerificationReport:
        """What it computes by its own rules (MXNet's in numpy), against its conversion."""
        told = {} if self.path.suffix == ".onnx" else {**self.given, "against": "reference"}
        return graphir.verify(self.path, self.conversion(folder), **told)


def real_models(shared: Path) -> Iterator[str]:
    """The names of all models, as `onnx/burn-mnist`."""
    for kind, file in KINDS.items():
        for folder in sorted((shared / "models" / kind).iterdir()):
            if (folder / file).exists():
                yield f"{kind}/{folder.name}"


def real_model(shared: Path, name: str) -> Real:
    """The model of a name, with stand-in weights where it has none."""
    folder = shared / "models" / name
    path = folder / KINDS[name.split("/")[0]]
    given: dict[str, Any] = {}
    if name.startswith("mxnet"):
        facts = json.loads((folder / "golden.json").read_text())
        shapes = SHAPES.get(name) or {key: tuple(shape) for key, shape in facts.get("inputs", {}).items()}
        given = {"shapes": shapes, "params": _weights(shared, folder, facts, shapes)}
    if name.startswith("tf"):
        fed = json.loads((folder / "golden.json").read_text())["fed"]
        given["shapes"] = {key.removesuffix(":0"): tuple(shape) for key, shape in fed.items()}
    return Real(name, path, given)


def _weights(shared: Path, folder: Path, facts: dict[str, Any], shapes: dict[str, Any]) -> Path | dict[str, Any]:
    """The checkpoint's, or stand-ins by the folder's rule, also where only inference tells their shapes."""
    found: Path | dict[str, Any] = {}
    if (folder / "model-0000.params").exists() or all((facts.get("arg_shapes") or {"": ()}).values()):
        found = parameters(shared, folder, facts)
    if isinstance(found, Path):
        return found
    bare = import_model(folder / "model-symbol.json", None, shapes, simplified=False)
    stand_in = load_rand_param(shared)
    for value in bare.parameters:
        if value.sources and value.name not in found and value.name not in shapes:
            found[value.name] = stand_in(value.name, present(value.shape))
    return found


def line(shared: Path, name: str, word: str) -> tuple[bool, str]:
    """Whether a comparison differs, and what is said of it."""
    with tempfile.TemporaryDirectory(prefix="graphir-faults-") as folder:
        try:
            model = real_model(shared, name)
            report = model.against_itself() if word == "itself" else model.against_conversion(Path(folder))
        except (GraphirError, KeyError, OSError) as error:
            return False, f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    verdict = report.verdict.value.upper() if report.verdict.differs else report.verdict.value
    worst = [found for found in report.outputs if not found.verdict.passes]
    said = [f"{found.name} {found.verdict.value} {found.relative:.2g}" for found in worst]
    return report.verdict.differs, "; ".join([verdict, *said, *report.unproven])


def main() -> int:
    shared = shared_folder()
    assert shared is not None, "no folder `shared` with models beside the repository"
    failed = 0
    for name in sys.argv[1:] or real_models(shared):
        for word in ("itself", "its conversion"):
            started = time.perf_counter()
            differs, said = line(shared, name, word)
            failed += differs
            print(f"{name} against {word}: {said} ({time.perf_counter() - started:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

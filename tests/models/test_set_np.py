"""Networks of MXNet's NumPy-style interface: converted, verified, and equal to what live MXNet 1.9.1 computed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import graphir
from tests.models.set_np import OWN, ZOO


@pytest.fixture(scope="module")
def exported(mxnet: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every network as gluon exports it; in a process of its own, for `set_np` is one switch for all."""
    folder = tmp_path_factory.mktemp("set_np")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.set_np", str(folder)], capture_output=True, text=True, cwd=root
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.parametrize("name", [*OWN, *ZOO])
def test_network_is_converted_and_verified(exported: Path, tmp_path: Path, name: str) -> None:
    with np.load(exported / f"{name}-golden.npz") as archive:
        golden = {key: archive[key] for key in archive.files}
    inputs = {key: value for key, value in golden.items() if not key.startswith("output")}
    target = tmp_path / "model.onnx"
    shapes = {key: value.shape for key, value in inputs.items()}
    report = graphir.convert(exported / f"{name}-symbol.json", target, shapes=shapes, verify=True)
    assert report.verification is not None
    assert all(one.verdict.passes for one in report.verification.outputs)
    # What an argmax that looks for NaN is composed of stands between its index and the operand that was compared.
    assert report.verification.ok or (name == "mixed" and "is discrete" in report.verification.unproven[0])
    for place, found in enumerate(graphir.Session(target).run(inputs).values()):
        expected = golden[f"output{place}"]
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())

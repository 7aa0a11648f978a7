"""What is missing skips a test, and fails it where the environment promises it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.requirements import PROMISES, missing, needing

OUTCOMES = [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]


@pytest.mark.parametrize("value, outcome", OUTCOMES)
@pytest.mark.parametrize(("need", "variable"), [(need, name) for need, names in PROMISES.items() for name in names])
def test_missing(
    need: str, variable: str, value: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in PROMISES[need]:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(outcome, match="not here"):
        missing(need, "not here")


@pytest.mark.parametrize("value, outcome", OUTCOMES)
def test_needing(value: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("GRAPHIR_REQUIRE_MXNET", value)
    with pytest.raises(outcome, match="live MXNet cannot be imported: no such module"), needing("MXNet"):
        raise ImportError("no such module")


def test_ci_promises_the_frameworks_and_the_shared_folder() -> None:
    assert {need for need, variables in PROMISES.items() if "CI" in variables} == {
        "MXNet", "PyTorch", "TensorFlow", "shared"
    }  # fmt: skip


def skips(path: Path) -> list[str]:
    """The reasons of the file's own calls of pytest.skip, as they are written. Only such a file is parsed."""
    text = path.read_text()
    tree = ast.parse(text if ".skip" in text or ".importorskip" in text else "")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [(ast.unparse(call.func), call) for call in calls]
    return [ast.unparse(call) for name, call in named if name in ("pytest.skip", "pytest.importorskip")]


# Skips for what no environment promises: a device, a file system, a kernel that no runtime or system has, an older
# library, a random model that is refused.
OWN = {
    "attacks/test_live.py": 1, "converters/mxnet/mx/test_arrays_as_live.py": 2,
    "converters/mxnet/mx/test_executor.py": 1, "tensorflow/test_random_models.py": 4,
    "core/test_tensor.py": 1, "core/test_types.py": 1, "devices/device.py": 1,
    "devices/test_lost.py": 1, "devices/test_operators.py": 1, "devices/test_sessions.py": 2, "requirements.py": 1,
    "tensorflow/test_mxnet.py": 1, "tensorflow/test_onnx.py": 1,
}  # fmt: skip


def test_no_other_file_skips_by_itself() -> None:
    folder = Path(__file__).parent
    found = {path.relative_to(folder).as_posix(): len(skips(path)) for path in folder.rglob("*.py")}
    assert {name: count for name, count in found.items() if count} == OWN

"""Files that are no models, or models that cannot be imported: what is said, by the library and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import graphir
from graphir.cli import main
from graphir.errors import FormatError, GraphirError, ImportFailure, UnsupportedOpError
from tests.tensorflow.graphdef import const, function, graph_def, node, placeholder

X = placeholder("x", "float32", (1, 4))


def _relu(name: str, *inputs: str) -> dict[str, object]:
    return node("Relu", name, inputs, T="float32")


GOOD = graph_def(X, const("w", [[1.0] * 64] * 4, "float32"), node("MatMul", "y", ["x", "w"], T="float32"))
UNFROZEN = graph_def(
    X, node("VarHandleOp", "v", dtype="float32", shape=(4, 2)), node("ReadVariableOp", "read", ["v"], dtype="float32"),
    node("VariableV2", "old", dtype="float32", shape=(4, 2)), node("MatMul", "a", ["x", "read"], T="float32"),
    node("MatMul", "b", ["x", "old"], T="float32"), node("AddV2", "y", ["a", "b"], T="float32"),
)  # fmt: skip
UNKNOWN = graph_def(X, node("MyOp", "mine", ["x"]), node("OtherOp", "other", ["mine"]), _relu("y", "other"))
CYCLE = graph_def(X, _relu("a", "c"), _relu("b", "a"), _relu("c", "b"), _relu("y", "c"))
CLOSED = graph_def(X, _relu("a", "c"), _relu("b", "a"), _relu("c", "b"))
SAME = function("same", {"a": "float32"}, {"r": ("float32", "a")})


def _call(name: str, argument: str) -> dict[str, object]:
    return node("PartitionedCall", name, [argument], f="same", Tin=["float32"], Tout=["float32"])


CALLS = graph_def(X, _call("a", "b"), _call("b", "a"), _relu("y", "a"), functions=[SAME])
CLOSED_CALL = graph_def(X, _call("a", "a"), functions=[SAME])
NOTHING = graph_def(X, const("k", [1.0], "float32"), node("NoOp", "init"))
LOST = graph_def(X, _relu("y", "nowhere"))
NO_LOOP = graph_def(
    X, node("Enter", "in", ["x"], T="float32", frame_name="f"), node("Exit", "left", ["in"], T="float32"),
    _relu("y", "left"),
)  # fmt: skip
NO_SIDES = graph_def(X, _relu("a", "x"), _relu("b", "x"), node("Merge", "m", ["a", "b"], T="float32", N=2),
                     _relu("y", "m"))  # fmt: skip
RECURSIVE = graph_def(X, node("While", "y", ["x"], T=["float32"], cond="lost", body="lost"))

ROWS: list[tuple[str, bytes, type[GraphirError], list[str]]] = [
    ("unfrozen", UNFROZEN, ImportFailure, ["2 variable(s)", "v", "old", "SavedModel"]),
    ("unknown", UNKNOWN, UnsupportedOpError, ["MyOp", "OtherOp", "2 node(s)"]),
    ("cycle", CYCLE, ImportFailure, ["cycle of 3 nodes"]),
    ("cycle-without-output", CLOSED, ImportFailure, ["cycle of 3 nodes: a -> c -> b -> a"]),
    ("cycle-of-calls", CALLS, ImportFailure, ["cycle of 2 calls: a:0 -> b:0 -> a:0"]),
    ("call-of-itself", CLOSED_CALL, ImportFailure, ["cycle of 1 calls: a:0 -> a:0"]),
    ("nothing-computed", NOTHING, ImportFailure, ["nothing in it computes an output", "Const, NoOp, Placeholder"]),
    ("lost-node", LOST, ImportFailure, ["'nowhere', which is not in the graph"]),
    ("cut", GOOD[:-40], FormatError, ["cut short", "at byte"]),
    ("no-protobuf", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", FormatError, ["at byte"]),
    ("exit-without-loop", NO_LOOP, ImportFailure, ["left leaves no loop"]),
    ("merge-without-switch", NO_SIDES, ImportFailure, ["operands of m"]),
    ("no-such-function", RECURSIVE, UnsupportedOpError, ["'lost' is not in the library"]),
]


@pytest.mark.parametrize(("data", "error", "texts"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_bad_graph_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, error: type[GraphirError], texts: list[str]
) -> None:
    path = tmp_path / "frozen.pb"
    path.write_bytes(data)
    with pytest.raises(error) as raised:
        graphir.load(path)
    assert [text for text in texts if text not in str(raised.value)] == []
    assert main(["convert", str(path), str(tmp_path / "out.onnx")]) == 1
    printed = capsys.readouterr().err
    assert [text for text in texts if text not in printed] == []
    assert not (tmp_path / "out.onnx").exists()


def _with_signature(folder: Path) -> list[str]:
    (folder / "frozen.pb").write_bytes(GOOD)
    return [str(folder / "frozen.pb"), "--signature", "s"]


def _empty_folder(folder: Path) -> list[str]:
    (folder / "model").mkdir()
    (folder / "model" / "saved_model.pb").write_bytes(b"")
    return [str(folder / "model")]


def _lone_meta(folder: Path) -> list[str]:
    (folder / "model.meta").write_bytes(b"\x12\x02\x0a\x00")
    return [str(folder / "model.meta")]


@pytest.mark.parametrize(
    ("make", "text"),
    [(_with_signature, "no signatures"), (_empty_folder, "empty"), (_lone_meta, "no operator")],
)
def test_bad_source_is_refused_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], list[str]], text: str
) -> None:
    arguments = make(tmp_path)
    assert main(["convert", arguments[0], str(tmp_path / "out.onnx"), *arguments[1:]]) == 1
    assert text in capsys.readouterr().err


def test_report_names_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "frozen.pb"
    path.write_bytes(GOOD)
    assert main(["convert", str(path), str(tmp_path / "out.onnx")]) == 0
    assert "frozen.pb (TensorFlow GraphDef)" in capsys.readouterr().out

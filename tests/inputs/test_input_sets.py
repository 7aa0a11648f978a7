"""Several sets of inputs by default: faults that one set of small numbers cannot show, and models that they suit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from graphir import verify
from graphir.cli import main
from graphir.errors import VerificationError
from graphir.inputs.draws import DRAWS
from graphir.verification import driver, equivalence
from graphir.verification.report import VerificationReport
from tests.verification.models import onnx_model

FLOAT, INT32, INT64, UINT8, BOOL = (
    TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL
)  # fmt: skip
RANDOM = np.random.Generator(np.random.PCG64(5))
TABLE = RANDOM.standard_normal((1000, 4)).astype(np.float32)
KERNEL = (RANDOM.standard_normal((4, 3, 3, 3)) * 0.2).astype(np.float32)
DENSE = RANDOM.standard_normal((4, 5)).astype(np.float32)
Types = dict[str, tuple[int, list[Any]]]
make = helper.make_node


class Side:
    """Nodes and weights of one of two models."""

    def __init__(self, *nodes: Any, **weights: Any) -> None:
        self.nodes, self.weights = list(nodes), {name: np.asarray(array) for name, array in weights.items()}


def row_changed(row: int) -> NDArray[np.float32]:
    table = TABLE.copy()
    table[row] += 1
    return table


def reshaped(last: str) -> Side:
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "two"], ["height"]),
        make("Gather", ["shape", "three"], ["width"]),
        make("Concat", ["open", "height", last], ["target"], axis=0),
        make("Reshape", ["x", "target"], ["y"]),
    ]
    return Side(*nodes, two=np.array([2]), three=np.array([3]), open=np.array([-1]))


def classifier(*activation: Any, **bounds: Any) -> Side:
    nodes = [
        make("Conv", ["x", "kernel"], ["conv"], pads=[1, 1, 1, 1]),
        *activation,
        make("GlobalAveragePool", ["act"], ["pooled"]),
        make("Flatten", ["pooled"], ["flat"]),
        make("MatMul", ["flat", "dense"], ["scores"]),
        make("Softmax", ["scores"], ["y"]),
    ]
    return Side(*nodes, kernel=KERNEL, dense=DENSE, **bounds)


def branches(first: str, second: str) -> Side:
    then, other = (
        helper.make_graph([make(op, ["v"], [name])], name, [], [helper.make_tensor_value_info(name, FLOAT, None)])
        for op, name in ((first, "then"), (second, "other"))
    )
    return Side(make("If", ["c"], ["y"], then_branch=then, else_branch=other))


def at_a_rate(rate: int, operator: str) -> Side:
    """What is done at one rate of samples, a number among the inputs that reaches the comparison through others."""
    body, side = branches(operator, "Neg"), Side(rate=np.int64(rate), line=np.array([-1]), first=np.int64(0))
    found = [make("Reshape", ["r", "line"], ["rs"]), make("Gather", ["rs", "first"], ["one"])]
    side.nodes = [*found, make("Equal", ["one", "rate"], ["c"]), *body.nodes]
    return side


def at_a_place(place: int) -> Side:
    return Side(make("Gather", ["x", "place"], ["y"], axis=1), place=np.array([place]))


def beside_states(scale: float) -> Side:
    """Numbers beside those of a state, whose batch is its second axis."""
    nodes = [
        make("Slice", ["x", "zero", "four", "axis"], ["head"]),
        make("Gather", ["state", "layer"], ["own"], axis=0),
        make("Mul", ["own", "scale"], ["scaled"]),
        make("Concat", ["head", "scaled"], ["y"], axis=1),
    ]
    numbers = {name: np.array([number]) for name, number in (("zero", 0), ("four", 4), ("axis", 1))}
    return Side(*nodes, **numbers, layer=np.int64(1), scale=np.float32(scale))


def gathered(table: NDArray[np.float32]) -> Side:
    return Side(make("Gather", ["table", "x"], ["y"]), table=table)


def floored(dtype: int) -> Side:
    return Side(
        make("Cast", ["x"], ["real"], to=TensorProto.DOUBLE),
        make("Div", ["real", "three"], ["ratio"]),
        make("Floor", ["ratio"], ["whole"]),
        make("Cast", ["whole"], ["y"], to=dtype),
        three=np.float64(3),
    )


PICTURE: Types = {"x": (FLOAT, ["N", 3, "H", "W"])}
ROWS: Types = {"x": (FLOAT, ["N", 3])}
INDICES: Types = {"x": (INT64, ["N", 3])}
CONDITION: Types = {"c": (BOOL, []), "v": (FLOAT, [3])}
FAULTS: dict[str, tuple[Side, Side, Types, int]] = {
    "a height taken for the width": (reshaped("width"), reshaped("height"), PICTURE, FLOAT),
    "a batch written as 2": (
        Side(make("Reshape", ["x", "target"], ["y"]), target=np.array([0, -1])),
        Side(make("Reshape", ["x", "target"], ["y"]), target=np.array([2, -1])),
        {"x": (FLOAT, ["N", 4, 3])},
        FLOAT,
    ),
    "relu6 for relu before a softmax": (
        classifier(make("Relu", ["conv"], ["act"])),
        classifier(make("Clip", ["conv", "zero", "six"], ["act"]), zero=np.float32(0), six=np.float32(6)),
        {"x": (FLOAT, ["N", 3, 8, 8])},
        FLOAT,
    ),
    "an upper bound": (
        Side(make("Clip", ["x", "low", "high"], ["y"]), low=np.float32(-9), high=np.float32(20)),
        Side(make("Clip", ["x", "low", "high"], ["y"]), low=np.float32(-9), high=np.float32(25)),
        ROWS,
        FLOAT,
    ),
    "a lower bound": (
        Side(make("Clip", ["x", "low", "high"], ["y"]), low=np.float32(-9), high=np.float32(20)),
        Side(make("Clip", ["x", "low", "high"], ["y"]), low=np.float32(-8), high=np.float32(20)),
        ROWS,
        FLOAT,
    ),
    "truncated for floored division": (
        floored(INT32),
        Side(make("Div", ["x", "three"], ["y"]), three=np.int32(3)),
        {"x": (INT32, ["N", 3])},
        INT32,
    ),
    "fmod for mod": (
        Side(make("Mod", ["x", "three"], ["y"]), three=np.int64(3)),
        Side(make("Mod", ["x", "three"], ["y"], fmod=1), three=np.int64(3)),
        INDICES,
        INT64,
    ),
    "uint8 taken for int8": (
        Side(make("Cast", ["x"], ["y"], to=FLOAT)),
        Side(make("Cast", ["x"], ["small"], to=TensorProto.INT8), make("Cast", ["small"], ["y"], to=FLOAT)),
        {"x": (UINT8, ["N", 3])},
        FLOAT,
    ),
    "the first row of a table": (gathered(TABLE), gathered(row_changed(0)), INDICES, FLOAT),
    "the last row of a table": (gathered(TABLE), gathered(row_changed(-1)), INDICES, FLOAT),
    "rows outside of a table": (
        Side(
            make("Clip", ["x", "zero", "last"], ["row"]), make("Gather", ["table", "row"], ["y"]),
            zero=np.int64(0), last=np.int64(999), table=TABLE,
        ),
        Side(
            make("Mod", ["x", "rows"], ["row"]), make("Gather", ["table", "row"], ["y"]), rows=np.int64(1000),
            table=TABLE,
        ),
        INDICES,
        FLOAT,
    ),
    "rows counted from the end": (
        gathered(TABLE),
        Side(
            make("Clip", ["x", "zero", "last"], ["row"]), make("Gather", ["table", "row"], ["y"]),
            zero=np.int64(0), last=np.int64(999), table=TABLE,
        ),
        INDICES,
        FLOAT,
    ),
    "a quotient rounded down before a table": (
        Side(make("Div", ["x", "two"], ["row"]), make("Gather", ["table", "row"], ["y"]), two=np.int64(2), table=TABLE),
        Side(
            make("Mod", ["x", "two"], ["rest"]), make("Sub", ["x", "rest"], ["even"]),
            make("Div", ["even", "two"], ["row"]), make("Gather", ["table", "row"], ["y"]),
            two=np.int64(2), table=TABLE,
        ),
        INDICES,
        FLOAT,
    ),
    "a then branch": (branches("Abs", "Neg"), branches("Identity", "Neg"), CONDITION, FLOAT),
    "an else branch": (branches("Abs", "Neg"), branches("Abs", "Identity"), CONDITION, FLOAT),
    "a branch that one number reaches": (
        at_a_rate(16000, "Abs"), at_a_rate(16000, "Identity"), {"r": (INT64, []), "v": (FLOAT, [3])}, FLOAT,
    ),
    "the number that reaches a branch": (
        at_a_rate(16000, "Abs"), at_a_rate(8000, "Abs"), {"r": (INT64, []), "v": (FLOAT, [3])}, FLOAT,
    ),
    "a place beyond the usual sizes": (at_a_place(200), at_a_place(201), {"x": (FLOAT, ["N", "T"])}, FLOAT),
    "a state of the batch": (
        beside_states(1.0), beside_states(1.1), {"x": (FLOAT, [None, None]), "state": (FLOAT, [2, None, 5])}, FLOAT,
    ),
    "a sum that goes through int32": (
        Side(make("Add", ["x", "x"], ["y"])),
        Side(
            make("Cast", ["x"], ["small"], to=INT32), make("Add", ["small", "small"], ["sum"]),
            make("Cast", ["sum"], ["y"], to=INT64),
        ),
        INDICES,
        INT64,
    ),
}  # fmt: skip


def saved(side: Side, inputs: Types, element: int, path: Path) -> Path:
    onnx.save(onnx_model(side.nodes, inputs, {"y": (element, None)}, side.weights), path)  # type: ignore[dict-item]
    return path


def compared(right: Side, wrong: Side, inputs: Types, element: int, folder: Path) -> VerificationReport:
    paths = [saved(side, inputs, element, folder / f"{name}.onnx") for name, side in (("a", right), ("b", wrong))]
    return verify(*paths)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found_by_default(name: str, tmp_path: Path) -> None:
    report = compared(*FAULTS[name], tmp_path)
    assert report.exit_code == 4
    assert any(one.verdict.differs for one in report.sets)


@pytest.mark.parametrize("name", FAULTS)
def test_a_model_agrees_with_itself(name: str, tmp_path: Path) -> None:
    right, _, inputs, element = FAULTS[name]
    report = compared(right, right, inputs, element, tmp_path)
    assert report.ok
    assert [one.name for one in report.sets] == list(DRAWS)


def test_the_candidate_refuses_what_the_reference_takes(tmp_path: Path) -> None:
    right, wrong, inputs, element = FAULTS["a batch written as 2"]
    wrong.weights["target"] = np.array([2, 12])
    (found,) = compared(right, wrong, inputs, element, tmp_path).outputs
    assert "with the inputs 'edges' the candidate refuses what the reference takes: onnxruntime failed" in found.note


def test_a_batch_that_both_refuse_is_no_difference(tmp_path: Path) -> None:
    side = Side(make("Reshape", ["x", "target"], ["y"]), target=np.array([2, 12]))
    report = compared(side, side, {"x": (FLOAT, ["N", 4, 3])}, FLOAT, tmp_path)
    assert report.ok
    assert next(one for one in report.sets if one.name == "edges").feeds == {"x": "float32[2, 4, 3]"}


def test_sizes_that_are_not_taken_are_told(tmp_path: Path) -> None:
    right, _, inputs, element = FAULTS["a place beyond the usual sizes"]
    report = compared(right, right, inputs, element, tmp_path)
    assert [one.feeds["x"] for one in report.sets] == ["float32[2, 256]"] * len(DRAWS)
    assert any(note.startswith("inputs of the usual sizes are not taken: onnxruntime failed") for note in report.notes)


def test_a_model_of_one_sample_is_fed_with_one(tmp_path: Path) -> None:
    zeros = np.zeros((1, 64), np.float32)
    side = Side(make("Concat", ["x", "zeros"], ["c"], axis=1), make("Relu", ["c"], ["y"]), zeros=zeros)
    for sizes in (["N", 3], ["N", "T"], [None, 3]):
        report = compared(side, side, {"x": (FLOAT, sizes)}, FLOAT, tmp_path)
        assert {one.feeds["x"].partition(",")[0] for one in report.sets} == {"float32[1"}


def test_a_size_that_the_candidate_alone_refuses_is_no_reason_for_others(tmp_path: Path) -> None:
    nearer, farther = at_a_place(20), at_a_place(200)
    report = compared(nearer, farther, {"x": (FLOAT, ["N", "T"])}, FLOAT, tmp_path)
    said = "with the inputs 'normal' the candidate refuses what the reference takes: onnxruntime failed to run"
    assert (report.exit_code, [one.name for one in report.sets]) == (4, ["normal"])
    assert all(said in one.note for one in report.outputs)


def test_a_model_that_takes_no_size_says_why(tmp_path: Path) -> None:
    beyond = at_a_place(5000)
    with pytest.raises(VerificationError, match=r"onnxruntime failed to run.*5000"):
        compared(beyond, beyond, {"x": (FLOAT, ["N", "T"])}, FLOAT, tmp_path)


def test_sizes_that_were_made_up_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(at_a_place(5000), {"x": (FLOAT, ["N", "T"])}, FLOAT, tmp_path / "a.onnx")
    assert main(["convert", str(path), str(tmp_path / "b.onnx"), "--verify"]) == 1
    assert "made up for the check (x is float32[N, T])" in capsys.readouterr().err


def test_what_only_the_reference_refuses_is_said(tmp_path: Path) -> None:
    right, wrong, inputs, element = FAULTS["a batch written as 2"]
    wrong.weights["target"] = np.array([2, 12])
    report = verify(
        saved(wrong, inputs, element, tmp_path / "a.onnx"), saved(right, inputs, element, tmp_path / "b.onnx"),
        feeds=[{"x": np.zeros((2, 4, 3), np.float32)}, {"x": np.zeros((3, 4, 3), np.float32)}],
    )  # fmt: skip
    assert [one.name for one in report.sets] == ["given"]
    assert any("inputs 'given (2)': the reference does not take them" in note for note in report.notes)


def test_an_overflow_on_both_sides_shows_nothing(tmp_path: Path) -> None:
    side = Side(make("Exp", ["x"], ["e"]), make("Exp", ["e"], ["f"]), make("ReduceSum", ["f"], ["y"], keepdims=0))
    report = compared(side, side, ROWS, FLOAT, tmp_path)
    assert report.ok
    assert "inputs 'wide': all of y is infinite or NaN in both models, which shows nothing" in report.notes


def sizes(*nodes: Any) -> Side:
    """Sizes of boxes: exponentials, cut off."""
    ends = [make("Exp", ["x"], ["e"]), *nodes, make("Clip", ["size", "low", "high"], ["y"])]
    numbers = {"two": 2.0, "three": 3.0, "low": 0.0, "high": 90.0}
    return Side(*ends, **{name: np.float32(number) for name, number in numbers.items()})


WIDE_ROWS: Types = {"x": (FLOAT, ["N", 400])}
ONCE = sizes(make("Identity", ["e"], ["size"]))
APART = (make("Mul", ["e", "three"], ["more"]), make("Mul", ["e", "two"], ["less"]))


def test_products_that_overflow_in_another_order_are_no_difference(tmp_path: Path) -> None:
    other = sizes(*APART, make("Sub", ["more", "less"], ["size"]))
    report = compared(ONCE, other, WIDE_ROWS, FLOAT, tmp_path)
    assert report.ok, str(report)
    assert [one.name for one in report.sets] == list(DRAWS)


def test_a_bound_behind_an_overflow_is_found(tmp_path: Path) -> None:
    other = sizes(*APART, make("Sub", ["more", "less"], ["size"]))
    other.weights["high"] = np.asarray(95, np.float32)
    (shown,) = [one for one in compared(ONCE, other, WIDE_ROWS, FLOAT, tmp_path).sets if one.verdict.differs]
    assert shown.name == "wide"


@pytest.mark.parametrize(("room", "left"), [("SHARE", "wide, mask"), ("MOST", "edges, wide, mask")])
def test_a_model_that_takes_long_gets_light_sets_and_not_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str, left: str
) -> None:
    """Where the first set alone takes the most that all may take, there is no further one."""
    monkeypatch.setattr(driver, "LONG", 0.0)
    monkeypatch.setattr(driver, room, 0.0)
    right, _, inputs, element = FAULTS["relu6 for relu before a softmax"]
    report = compared(right, right, inputs, element, tmp_path)
    run = {"normal": "float32[2, 3, 8, 8]"} | ({} if "edges" in left else {"edges": "float32[1, 3, 8, 8]"})
    assert {one.name: one.feeds["x"] for one in report.sets} == run
    assert driver.LIGHT in report.notes
    assert report.coverage == [driver.SLOW]
    assert any(f"were left out, since one takes so long: {left} (" in note for note in report.notes)


def test_much_work_of_the_same_nodes_is_compared_on_two_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong, inputs, element = FAULTS["relu6 for relu before a softmax"]
    monkeypatch.setattr(equivalence, "HEAVY", 1.0)
    report = compared(right, right, inputs, element, tmp_path)
    assert [one.feeds["x"] for one in report.sets] == ["float32[2, 3, 8, 8]", "float32[1, 3, 8, 8]"]
    assert report.coverage == [f"not measured: {driver.SAME}"]
    assert any("wide, mask were left out" in note for note in report.notes)
    assert compared(right, wrong, inputs, element, tmp_path).exit_code == 4
    report = verify(tmp_path / "a.onnx", tmp_path / "a.onnx", feeds="drawn")
    assert [entry.name for entry in report.sets] == list(DRAWS)


def test_sizes_that_only_the_candidate_insists_on_are_said(tmp_path: Path) -> None:
    side = Side(make("Relu", ["x"], ["y"]))
    open_one = saved(side, ROWS, FLOAT, tmp_path / "a.onnx")
    fixed = saved(side, {"x": (FLOAT, [2, 3])}, FLOAT, tmp_path / "b.onnx")
    report = verify(open_one, fixed)
    assert report.ok
    assert {one.feeds["x"] for one in report.sets} == {"float32[2, 3]"}
    assert any("the candidate takes N = 2 only" in note for note in report.notes)
    assert not any("takes N" in note for note in verify(fixed, open_one).notes)

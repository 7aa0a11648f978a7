"""Detectors whose suppression rounding turns pass by their regions; another box does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import graphir
from graphir.verification.report import VerificationReport
from graphir.verification.running.references import RuntimeReference
from graphir.verification.verdict import Verdict

Feeds = Mapping[str, NDArray[Any]]
OVERLAP = 0.45
SIDE = 100.0
AT_THE_LIMIT = SIDE * (1 - OVERLAP) / (1 + OVERLAP)  # two squares moved by this much overlap by the limit
GIVE = 3e-5  # an intersection over union moves by a hundredth of that: some units in the last place of float32


def feeds(shift: float) -> dict[str, NDArray[np.float32]]:
    """Two boxes of the first class one beside the other, and one of the second far away."""
    boxes = np.array([[0, 0, SIDE, SIDE], [shift, 0, SIDE + shift, SIDE], [300, 300, 350, 360]], np.float32)
    scores = np.array([[0.9, 0.8, 0.0], [0.0, 0.0, 0.7]], np.float32)
    return {"raw": boxes[None], "scores": scores[None]}


def detector(
    path: Path, *, rows: bool, moved: float = 0.0, box: float = 0.0, label: float = 0.0, overlap: float = OVERLAP,
    most: int = 9,
) -> Path:  # fmt: skip
    """A suppression behind boxes to which something is added: `moved` to x of the second, `box` to x of the third. Its
    indices are the output, or `rows` of class, score and box; `label` is added to the classes."""
    added = np.zeros((1, 3, 4), np.float32)
    added[0, 1, [0, 2]], added[0, 2, [0, 2]] = moved, box
    constants: dict[str, NDArray[np.generic]] = {
        "added": added, "most": np.array([most]), "overlap": np.array([overlap], np.float32),
        "least": np.array([0.01], np.float32), "label": np.array([[label]], np.float32), "second": np.array([1]),
        "image_and_box": np.array([0, 2]), "first": np.array([0]),
    }  # fmt: skip
    nodes = [
        helper.make_node("Add", ["raw", "added"], ["boxes"]),
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"]),
    ]
    if rows:
        nodes += [
            helper.make_node("Gather", ["kept", "second"], ["class_index"], axis=1),
            helper.make_node("Cast", ["class_index"], ["class_real"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["class_real", "label"], ["class"]),
            helper.make_node("GatherND", ["scores", "kept"], ["score_row"]),
            helper.make_node("Unsqueeze", ["score_row", "second"], ["score"]),
            helper.make_node("Gather", ["kept", "image_and_box"], ["place"], axis=1),
            helper.make_node("GatherND", ["boxes", "place"], ["box"]),
            helper.make_node("Concat", ["class", "score", "box"], ["table"], axis=1),
            helper.make_node("Unsqueeze", ["table", "first"], ["rows"]),
        ]
    output = (
        helper.make_tensor_value_info("rows", TensorProto.FLOAT, [1, "n", 6]) if rows
        else helper.make_tensor_value_info("kept", TensorProto.INT64, ["n", 3])
    )  # fmt: skip
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes, "detector",
        [helper.make_tensor_value_info("raw", TensorProto.FLOAT, [1, 3, 4]),
         helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 2, 3])],
        [output], [numpy_helper.from_array(array, name) for name, array in constants.items() if name in read],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def verified(folder: Path, rows: bool, shift: float, **candidate: float) -> VerificationReport:
    source = detector(folder / "source.onnx", rows=rows)
    other = detector(folder / "other.onnx", rows=rows, **candidate)  # type: ignore[arg-type]
    return graphir.verify(source, other, feeds=feeds(shift))


@pytest.mark.parametrize("rows", [True, False], ids=["rows", "indices"])
@pytest.mark.parametrize("side", [-1, 1], ids=["a box more", "a box less"])
def test_an_overlap_at_the_limit_is_noise(tmp_path: Path, rows: bool, side: int) -> None:
    report = verified(tmp_path, rows, AT_THE_LIMIT + side * GIVE, moved=-side * 2 * GIVE)
    assert report.verdict is Verdict.NOISE, report.to_text()
    assert "given the reference's choices" in report.outputs[0].note


@pytest.mark.usefixtures("in_this_process")
def test_rows_that_rounding_turns_take_no_further_run_of_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding the inputs turns this overlap in both models: no floor of single elements says anything."""
    asked: list[list[str]] = []
    stream, run = RuntimeReference.stream, RuntimeReference.run

    def streamed(self: RuntimeReference, feeds: Feeds, names: Iterable[str]) -> Iterator[tuple[str, NDArray[Any]]]:
        asked.append(list(names))
        return stream(self, feeds, asked[-1])

    def ran(self: RuntimeReference, feeds: Feeds, outputs: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        asked.append(list(outputs or ()))
        return run(self, feeds, outputs)

    monkeypatch.setattr(RuntimeReference, "stream", streamed)
    monkeypatch.setattr(RuntimeReference, "run", ran)
    report = verified(tmp_path, True, AT_THE_LIMIT + 4e-6, moved=-8e-6)
    assert report.verdict is Verdict.NOISE, report.to_text()
    assert len(asked) == 1  # which gives what the parts of the whole are judged by too
    assert "rows" in asked[0]


@pytest.mark.parametrize("rows", [True, False], ids=["rows", "indices"])
@pytest.mark.parametrize(
    "fault",
    [{"moved": 1.0}, {"moved": -1.0}, {"overlap": 0.46}, {"most": 1}, {"most": 0}],
    ids=["a box that is there", "a box that is not", "the limit of overlaps", "the best alone", "none"],
)
def test_another_set_is_broken(tmp_path: Path, rows: bool, fault: dict[str, float]) -> None:
    shift = AT_THE_LIMIT + (0.5 if fault.get("moved") == -1.0 or "most" in fault else -0.5)
    report = verified(tmp_path, rows, shift, **fault)
    assert report.verdict is Verdict.BROKEN, report.to_text()


@pytest.mark.parametrize("fault", [{"box": 1.0}, {"label": 1.0}], ids=["a shifted box", "another class"])
@pytest.mark.parametrize("tied", [False, True])
def test_a_wrong_row_differs_beside_a_near_tie_too(tmp_path: Path, fault: dict[str, float], tied: bool) -> None:
    moved = -2 * GIVE if tied else 0.0
    report = verified(tmp_path, True, AT_THE_LIMIT + GIVE, moved=moved, **fault)
    assert report.verdict.differs, report.to_text()
    assert ("boxes" if "box" in fault else "class") in " ".join(f"{cause.name} {cause.what}" for cause in report.causes)


def test_stated_tolerances_hold_for_sets_too(tmp_path: Path) -> None:
    paths = [detector(tmp_path / f"{place}.onnx", rows=True, box=place * 0.1) for place in range(2)]
    given = feeds(AT_THE_LIMIT + 1)
    assert graphir.verify(*paths, feeds=given, rtol=1e-3).ok
    assert not graphir.verify(*paths, feeds=given, rtol=1e-5).ok


def boxes_alone(path: Path, **faults: float) -> Path:
    """The detector whose output is the boxes that stay, without their classes and scores: no table of detections."""
    model = onnx.load(detector(path, rows=True, **faults))  # type: ignore[arg-type]
    kept = [node for node in model.graph.node if node.output[0] in ("boxes", "kept", "place", "box")]
    read = {name for node in kept for name in node.input}
    constants = [tensor for tensor in model.graph.initializer if tensor.name in read]
    output = helper.make_tensor_value_info("box", TensorProto.FLOAT, ["n", 4])
    graph = helper.make_graph(kept, "boxes", model.graph.input, [output], constants)
    onnx.save(helper.make_model(graph, opset_imports=model.opset_import, ir_version=8), path)
    return path


@pytest.mark.parametrize("side", [-1, 1], ids=["a box more", "a box less"])
def test_what_a_suppression_does_on_the_same_numbers_tells_rounding_from_a_fault(tmp_path: Path, side: int) -> None:
    source = boxes_alone(tmp_path / "source.onnx")
    other = boxes_alone(tmp_path / "other.onnx", moved=-side * 2 * GIVE)
    report = graphir.verify(source, other, feeds=feeds(AT_THE_LIMIT + side * GIVE))
    assert report.verdict is Verdict.NOISE, report.to_text()
    assert "given the reference's choices" in report.outputs[0].note


@pytest.mark.parametrize("fault", [{"moved": 1.0}, {"overlap": 0.46}, {"overlap": 0.46, "moved": 2 * GIVE}])
def test_a_suppression_that_does_something_else_on_the_same_numbers_is_broken(
    tmp_path: Path, fault: dict[str, float]
) -> None:
    source, other = boxes_alone(tmp_path / "source.onnx"), boxes_alone(tmp_path / "other.onnx", **fault)
    report = graphir.verify(source, other, feeds=feeds(AT_THE_LIMIT - 0.5))
    assert report.verdict.differs, report.to_text()


def normalized_scores(path: Path, *, exchanged: bool) -> Path:
    """The detector with rows, its scores normalized by parts that onnxruntime fuses into a LayerNormalization, their
    difference the other way round or not: the fused one does not see that."""
    model = onnx.load(detector(path, rows=True))
    difference = ["mean", "given"] if exchanged else ["given", "mean"]
    parts = [
        ("Mul", ["input", "gain"], "given"), ("ReduceMean", ["given"], "mean"), ("Sub", difference, "centred"),
        ("Pow", ["centred", "two"], "square"), ("ReduceMean", ["square"], "variance"),
        ("Add", ["variance", "gain"], "shifted"), ("Sqrt", ["shifted"], "root"), ("Div", ["centred", "root"], "ratio"),
        ("Mul", ["ratio", "gains"], "scaled"), ("Add", ["scaled", "places"], "scores"),
    ]  # fmt: skip
    nodes = [
        helper.make_node(kind, read, [made], **({"axes": [-1]} if kind == "ReduceMean" else {}))  # type: ignore[arg-type]
        for kind, read, made in parts
    ]
    constants = {
        "gain": np.float32(0.5), "two": np.float32(2), "gains": np.full(3, 0.1, np.float32),
        "places": np.full(3, 0.5, np.float32),
    }  # fmt: skip
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(held), name) for name, held in constants.items())
    model.graph.input[1].name = "input"
    kept = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*nodes, *kept])
    onnx.save(model, path)
    return path


def test_a_fault_before_a_suppression_that_a_fusion_hides_is_no_near_tie(tmp_path: Path) -> None:
    source, other = (
        normalized_scores(tmp_path / f"{exchanged}.onnx", exchanged=exchanged) for exchanged in (False, True)
    )
    given = feeds(AT_THE_LIMIT + 1)
    fed = {"raw": given["raw"], "input": given["scores"]}
    assert graphir.verify(source, source, feeds=fed).verdict.passes
    report = graphir.verify(source, other, feeds=fed)
    assert report.verdict.differs, report.to_text()
    assert "hidden by a fusion of onnxruntime" in report.outputs[0].note, report.to_text()

"""A softmax over very many classes loses digits in float32; a wrong one does not pass for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import graphir
from graphir.verification.verdict import Verdict

CLASSES = 300_000
FEW_STAND_OUT = {"x": np.where(np.random.default_rng(0).random((1, CLASSES)) < 0.02, 3.0, 0.0).astype(np.float32)}


def softmax(path: Path, *, fused: bool, factor: float = 1.0, count: int = CLASSES) -> Path:
    """Scaled numbers and their softmax: one operator, which onnxruntime adds up one after the other, or five, the sum
    of which is added up in parts. `factor` is a fault of the result."""
    constants: dict[str, NDArray[np.float32]] = {"scale": np.array(0.1, np.float32)}
    nodes = [helper.make_node("Mul", ["x", "scale"], ["scores"])]
    if fused:
        nodes.append(helper.make_node("Softmax", ["scores"], ["probabilities"], axis=-1))
    else:
        nodes += [
            helper.make_node("ReduceMax", ["scores"], ["largest"], axes=[1]),
            helper.make_node("Sub", ["scores", "largest"], ["shifted"]),
            helper.make_node("Exp", ["shifted"], ["powers"]),
            helper.make_node("ReduceSum", ["powers", "last"], ["total"]),
            helper.make_node("Div", ["powers", "total"], ["probabilities"]),
        ]
    constants["factor"] = np.array(factor, np.float32)
    end = "probabilities"
    if factor != 1:
        nodes.append(helper.make_node("Mul", [end, "factor"], ["faulty"]))
        end = "faulty"
    nodes.append(helper.make_node("Identity" if factor != 1 else "Flatten", [end], ["y"]))
    read = {name for node in nodes for name in node.input}
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items() if name in read]
    if not fused:
        tensors.append(numpy_helper.from_array(np.array([1]), "last"))
    graph = helper.make_graph(
        nodes, "softmax", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, count])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, count])], tensors,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("first", [True, False], ids=["in the reference", "in the candidate"])
def test_what_adding_up_loses_is_noise(tmp_path: Path, first: bool) -> None:
    paths = [softmax(tmp_path / f"{fused}.onnx", fused=fused) for fused in (first, not first)]
    report = graphir.verify(*paths, feeds=FEW_STAND_OUT)
    assert report.verdict is Verdict.NOISE, report.to_text()
    (output,) = [one for one in report.outputs if one.name == "y"]
    assert output.relative > 5e-6, "onnxruntime adds up in parts: this shows nothing any more"


@pytest.mark.parametrize("first", [True, False], ids=["in the reference", "in the candidate"])
@pytest.mark.parametrize("factor", [1.002, 0.998, 1.01])
def test_a_wrong_result_is_no_loss(tmp_path: Path, first: bool, factor: float) -> None:
    source = softmax(tmp_path / "source.onnx", fused=first)
    other = softmax(tmp_path / "other.onnx", fused=not first, factor=factor)
    assert graphir.verify(source, other, feeds=FEW_STAND_OUT).verdict.differs


def coarse(path: Path, *, axis: int = 1, apart: bool = False, fault: float = 0.0) -> Path:
    """Scores of some hundreds in float16 and their softmax. With `apart` they are rounded once more on the way, `fault`
    is added to the scores of one class."""
    drawn = np.random.default_rng(3)
    third = (drawn.standard_normal((6, 1)) * 60 + drawn.standard_normal((6, 6)) / 4).astype(np.float16)
    weights = third if apart else third * np.float16(3)
    constants = {"w": weights, "three": np.array(3, np.float16)}
    constants["fault"] = np.array([fault, 0, 0, 0, 0, 0], np.float32)
    product = [helper.make_node("MatMul", ["half", "w"], ["product"])]
    if apart:
        product.append(helper.make_node("Mul", ["product", "three"], ["scores"]))
    else:
        product.append(helper.make_node("Identity", ["product"], ["scores"]))
    nodes = [
        helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16), *product,
        helper.make_node("Cast", ["scores"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["wide", "fault"], ["shifted"]),
        helper.make_node("Softmax", ["shifted"], ["y"], axis=axis),
    ]  # fmt: skip
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [6, 6]) for name in "xy")
    held = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def test_a_softmax_magnifies_the_rounding_of_coarse_scores(tmp_path: Path) -> None:
    report = graphir.verify(coarse(tmp_path / "a.onnx"), coarse(tmp_path / "b.onnx", apart=True))
    assert report.verdict is Verdict.NOISE
    assert any("its own part gives" in one.note for one in report.outputs)


@pytest.mark.parametrize("wrong", [{"axis": 0}, {"apart": True, "axis": 0}, {"fault": 30.0}])
def test_what_is_wrong_about_a_coarse_softmax_is_not_excused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    report = graphir.verify(coarse(tmp_path / "a.onnx"), coarse(tmp_path / "b.onnx", **wrong))
    assert report.verdict.differs

"""Which heads of a training symbol stay: losses and labels handed on go, all else is what somebody wants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.references import ReferenceEvaluator
from graphir.graph import Graph
from graphir.tensor import Tensor
from tests.converters.mxnet.composed import Part, node, symbol_json, variable

WEIGHT = {"fc_weight": np.ones((4, 3), np.float32), "fc_bias": np.zeros(4, np.float32)}
WEIGHTS = variable("fc_weight"), variable("fc_bias")
SHAPES: dict[str, tuple[int, ...]] = {"data": (2, 3)}


def net() -> Part:
    return node("FullyConnected", variable("data"), *WEIGHTS, num_hidden=4, name="fc")


def softmax(label: str = "softmax_label") -> Part:
    return node("SoftmaxOutput", net(), variable(label), name="softmax")


def loaded(*heads: Any, **shapes: tuple[int, ...]) -> Graph:
    return from_symbol(symbol_json(*heads), WEIGHT, SHAPES | shapes)


def difference(one: Part, label: str) -> Part:
    return node("elemwise_sub", one, variable(label))


def doubled(one: Part) -> Part:
    return node("_mul_scalar", one, scalar=2)


def outputs(graph: Graph) -> list[str]:
    return [value.name for value in graph.outputs]


def told(graph: Graph) -> dict[str, str]:
    return {made.node: made.kind for made in graph.decisions if made.kind.startswith("loss head ")}


GONE = [
    pytest.param(lambda: node("MakeLoss", variable("softmax_label"), name="h", grad_scale=0), id="label handed on"),
    pytest.param(lambda: node("BlockGrad", variable("softmax_label"), name="h"), id="label behind BlockGrad"),
    pytest.param(
        lambda: node("MakeLoss", node("BlockGrad", variable("gt_boxes")), name="h"), id="label of another name"
    ),
    pytest.param(lambda: node("MakeLoss", difference(net(), "bbox_target"), name="h"), id="loss against a target"),
    pytest.param(
        lambda: node("make_loss", node("abs", difference(net(), "label")), name="h"), id="make_loss of a loss"
    ),
    pytest.param(
        lambda: node("MakeLoss", node("Reshape", variable("lip_label"), shape=(-1,)), name="h"), id="label reshaped"
    ),
    pytest.param(
        lambda: node("softmax_cross_entropy", net(), variable("softmax_label"), name="h"), id="loss by its meaning"
    ),
]


@pytest.mark.parametrize("head", GONE)
def test_losses_and_labels_go(head: Any) -> None:
    graph = loaded(softmax(), head())
    assert outputs(graph) == ["softmax_output"]
    assert told(graph) == {"h": "loss head removed"}
    assert [value.name for value in graph.inputs] == ["data"]


KEPT = [
    pytest.param(
        lambda: node("MakeLoss", doubled(softmax()), name="h", grad_scale=0), {"h": "loss head kept"}, id="silent"
    ),
    pytest.param(lambda: node("MakeLoss", doubled(net()), name="h"), {"h": "loss head kept"}, id="in doubt"),
    pytest.param(lambda: node("make_loss", doubled(net()), name="h"), {"h": "loss head kept"}, id="make_loss"),
    pytest.param(lambda: node("BlockGrad", doubled(net()), name="h"), {}, id="BlockGrad"),
    pytest.param(lambda: node("_copy", doubled(net()), name="h"), {}, id="no loss head at all"),
]


@pytest.mark.parametrize(("head", "decisions"), KEPT)
def test_what_no_label_reaches_stays(head: Any, decisions: dict[str, str]) -> None:
    graph = loaded(softmax(), head())
    assert len(graph.outputs) == 2
    assert told(graph) == decisions
    assert [value.name for value in graph.inputs] == ["data"]


def test_label_by_its_reader() -> None:
    graph = loaded(softmax("y"), node("MakeLoss", variable("y"), grad_scale=0, name="h"))
    assert outputs(graph) == ["softmax_output"]


def test_what_a_result_needs_is_no_label() -> None:
    start = variable("target")
    decoder = node("FullyConnected", start, *WEIGHTS, num_hidden=4, name="fc")
    prediction = node("SoftmaxOutput", decoder, variable("softmax_label"), name="s")
    text = symbol_json(prediction, node("MakeLoss", doubled(decoder), name="h"))
    graph = from_symbol(text, WEIGHT, {"target": (2, 3)})
    assert outputs(graph) == ["s_output", "h_output"]


def test_an_autoencoder_keeps_its_input() -> None:
    start = variable("data")
    code = node("FullyConnected", start, *WEIGHTS, num_hidden=3, name="fc")
    error = node("MakeLoss", node("square", node("elemwise_sub", code, start)), grad_scale=0, name="h")
    weights = {"fc_weight": np.ones((3, 3), np.float32), "fc_bias": np.zeros(3, np.float32)}
    text = symbol_json(node("LinearRegressionOutput", code, start, name="out"), error)
    assert outputs(from_symbol(text, weights, SHAPES)) == ["out_output", "h_output"]


@pytest.mark.parametrize("label", ["label", "other"])
def test_the_only_head_stays(label: str) -> None:
    head = node("MakeLoss", difference(net(), label), name="h")
    graph = from_symbol(symbol_json(head), WEIGHT, SHAPES | {label: (2, 4)})
    assert outputs(graph) == ["h_output"]
    assert told(graph) == {"h": "loss head kept"}


def test_keep_loss_keeps_all() -> None:
    heads = [softmax(), node("MakeLoss", variable("softmax_label"), name="h")]
    graph = from_symbol(symbol_json(*heads), WEIGHT, SHAPES | {"softmax_label": (2,)}, keep_loss=True)
    assert len(graph.outputs) == 2
    assert told(graph) == {}


def ssd() -> str:
    """The heads of MXNet's SSD example, with its loss, its target and its detections."""
    scores = node("transpose", node("Reshape", variable("data"), shape=(0, -1, 3)), axes=(0, 2, 1))
    location, anchors = variable("location"), variable("anchors")
    made = node("_contrib_MultiBoxTarget", anchors, variable("label"), scores, name="target")
    prediction = node("SoftmaxOutput", scores, made[2], multi_output=True, name="cls_prob")
    error = node("elemwise_mul", made[1], node("elemwise_sub", location, made[0]))
    loss = node("MakeLoss", node("smooth_l1", error, scalar=1.0), name="loc_loss")
    target = node("MakeLoss", made[2], grad_scale=0, name="cls_label")
    boxes = node("_contrib_MultiBoxDetection", prediction, location, anchors, name="detection")
    return symbol_json(prediction, loss, target, node("MakeLoss", boxes, grad_scale=0, name="det_out"))


def test_detections_of_ssd_are_an_output() -> None:
    graph = from_symbol(ssd(), {}, {"data": (1, 12), "location": (1, 16), "anchors": (1, 4, 4)})
    assert [value.name for value in graph.inputs] == ["data", "anchors", "location"]
    assert told(graph) == {
        "loc_loss": "loss head removed", "cls_label": "loss head removed", "det_out": "loss head kept"
    }  # fmt: skip
    assert outputs(graph) == ["cls_prob_output", "det_out_output"]


def test_the_reference_may_lack_the_same() -> None:
    held = ReferenceEvaluator(read_symbol(ssd()), {})
    assert sorted(held.may_lack) == ["cls_label_output", "loc_loss_output"]


def test_elements_make_a_parameter_of_a_label() -> None:
    heads = [softmax(), node("MakeLoss", variable("one_label"), name="h")]
    weights = WEIGHT | {"one_label": np.ones(3, np.float32)}
    text = symbol_json(*heads)
    assert outputs(from_symbol(text, weights, SHAPES)) == ["softmax_output", "h_output"]
    held = ReferenceEvaluator(read_symbol(text), {name: Tensor.of(array) for name, array in weights.items()})
    assert not held.may_lack

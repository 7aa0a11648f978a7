"""Rewrites of products, windows and roots into other operators that compute the same."""

from __future__ import annotations

import numpy as np
import onnx

from tests.faults.model import Model, Node, get, put

from .operators import number
from .rewrite import Rewrite, everywhere, replaced

DOUBLE = onnx.TensorProto.DOUBLE
UNBOUNDED = -3.0e38


def conv_in_halves(model: Model, node: Node) -> bool:
    """The filters in two halves, joined behind."""
    held = model.operand(node, 1)
    if held is None or get(node, "group", 1) != 1 or held.shape[0] < 2:
        return False
    position, middle, parts = model.position(node), held.shape[0] // 2, []
    attributes = list(node.attribute)
    for place, part in enumerate((slice(None, middle), slice(middle, None))):
        bias = model.operand(node, 2)
        reads = [node.input[0], model.constant(held[part], "filters")]
        reads += [] if bias is None else [model.constant(bias[part], "bias_part")]
        parts.append(model.fresh(f"{node.name}_part"))
        model.insert(position + place, "Conv", reads, [parts[-1]]).attribute.extend(attributes)
    model.become(model.node(node.name), "Concat", parts, axis=1)
    return True


def gemm_as_conv(model: Model, node: Node) -> bool:
    """A dense layer as a convolution of 1x1 on a map of one pixel."""
    held = model.operand(node, 1)
    plain = all(get(node, name, 1.0) == 1.0 for name in ("alpha", "beta")) and not get(node, "transA", 0)
    if held is None or not plain or len(model.shape(node.input[0]) or ()) != 2:
        return False
    filters = (held if get(node, "transB", 0) else held.T)[:, :, None, None]
    axes, names = model.constant(np.array([2, 3], np.int64), "pixel"), [model.fresh(f"{node.name}_{k}") for k in "ab"]
    return replaced(model, node, [
        ("Unsqueeze", [node.input[0], axes], names[0], {}),
        ("Conv", [names[0], model.constant(filters, "filters"), *node.input[2:]], names[1], {}),
        ("Squeeze", [names[1], axes], node.output[0], {}),
    ])  # fmt: skip


def relu_as_where(model: Model, node: Node) -> bool:
    positive, zero = model.fresh(f"{node.name}_positive"), number(model, node, 0.0)
    return replaced(model, node, [
        ("Greater", [node.input[0], zero], positive, {}),
        ("Where", [positive, node.input[0], zero], node.output[0], {}),
    ])  # fmt: skip


def sqrt_as_pow(model: Model, node: Node) -> bool:
    model.become(node, "Pow", [node.input[0], number(model, node, 0.5)])
    return True


def in_double(model: Model, node: Node) -> bool:
    """A product computed in float64. Not one of what a Transpose gives: onnxruntime 1.32 crashes where it fuses
    Transpose, Cast and a MatMul of float64."""
    makers = [model.producer(name) for name in node.input]
    if model.seen[node.output[0]].dtype != np.float32 or any(held and held.op_type == "Transpose" for held in makers):
        return False
    for slot in range(2):
        model.before(model.node(node.name), slot, "Cast", to=DOUBLE)
    model.after(model.node(node.name), "Cast", to=onnx.TensorProto.FLOAT)
    return True


def lowest_padded(model: Model, node: Node) -> bool:
    """The border of a maximum as a Pad of numbers below all others."""
    pads = list(get(node, "pads", ()))
    if len(pads) != 4 or not max(pads) or get(node, "ceil_mode", 0) or len(node.output) > 1:
        return False
    top, left, bottom, right = pads
    border = model.constant(np.array([0, 0, top, left, 0, 0, bottom, right], np.int64), "border")
    model.before(node, 0, "Pad", border, number(model, node, UNBOUNDED), mode="constant")
    put(model.node(node.name), "pads", [0, 0, 0, 0])
    return True


def transposed_weights(model: Model, node: Node) -> bool:
    """The weights of a product stored the other way round, and turned by a node."""
    held = model.operand(node, 1)
    if held is None or held.ndim != 2:
        return False
    node.input[1] = model.constant(held.T, "turned")
    model.before(node, 1, "Transpose", perm=[1, 0])
    return True


REWRITES = (
    Rewrite("Conv in two halves", everywhere("Conv", conv_in_halves)),
    Rewrite("Gemm as Conv of 1x1", everywhere("Gemm", gemm_as_conv)),
    Rewrite("Relu as Where", everywhere("Relu", relu_as_where)),
    Rewrite("Sqrt as Pow", everywhere("Sqrt", sqrt_as_pow)),
    Rewrite("products in float64", everywhere("MatMul", in_double)),
    Rewrite("MaxPool behind a Pad", everywhere("MaxPool", lowest_padded)),
    Rewrite("weights transposed by a node", everywhere("MatMul Gemm", transposed_weights)),
)

__all__ = ["REWRITES"]

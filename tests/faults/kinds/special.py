"""Faults of detections, element types, quantization, and of branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node

from .edit import Edit, Fault, always, attribute, each, weights

FLOAT, INT32, FLOAT16, BFLOAT16 = 1, 6, 10, 16


def by_name(*names: str) -> Callable[[Model, Node], bool]:
    return lambda model, node: node.name in names


def anchors(array: Array, generator: Generator) -> Array | None:
    """Anchors half a cell further."""
    return array + array.dtype.type(2.0) if array.ndim == 3 and array.size > 64 else None


def larger(array: Array, generator: Generator) -> Array | None:
    """Anchors a tenth larger."""
    return array * array.dtype.type(1.1) if array.ndim == 3 and array.size > 64 else None


def factor(value: float) -> Callable[[Array, Generator], Array | None]:
    def change(array: Array, generator: Generator) -> Array | None:
        return array * array.dtype.type(value) if array.dtype.kind == "f" and array.size == 1 else None

    return change


def variance(array: Array, generator: Generator) -> Array | None:
    """Twice the factor by which the detector scales what it learned."""
    is_variance = array.size == 1 and round(float(array.reshape(-1)[0]), 6) in (0.1, 0.2)
    return array * 2 if is_variance else None


def unquantized(model: Model, node: Node, generator: Generator) -> None:
    """Neither rounded to 8 bits nor back."""
    model.bypass(model.users(node.output[0])[0][0])
    model.bypass(node)


def half_extent(model: Model, node: Node, generator: Generator) -> None:
    """Corner and size for two corners: the whole extent taken for half of it."""
    model.bypass(node)


def through(kind: int) -> Callable[[Model, Node, Generator], None]:
    """A value that goes through a narrower type."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        inner = model.after(node, "Cast", to=kind)
        model.after(inner, "Cast", to=FLOAT)

    return apply


def is_single(model: Model, node: Node) -> bool:
    found = model.seen.get(node.output[0]) if node.output else None
    return found is not None and found.dtype == np.float32 and found.ndim > 1


def byte_wrap(model: Model, node: Node, generator: Generator) -> None:
    """Integers that go through 8 bits without saturation."""
    inner = model.after(node, "Cast", to=3)
    model.after(inner, "Cast", to=FLOAT)


def scale_of(slot: int, value: float) -> Callable[[Model], Iterator[Edit]]:
    """The scale of one side of a pair of quantization and dequantization, or of weights."""

    def change(array: Array, generator: Generator) -> Array | None:
        return array * array.dtype.type(value)

    return weights("QuantizeLinear DequantizeLinear", slot, change)


def zero_point(array: Array, generator: Generator) -> Array | None:
    return array + array.dtype.type(3) if array.dtype == np.uint8 and array.max() < 250 else None


def signed_zero(array: Array, generator: Generator) -> Array | None:
    """Symmetric for asymmetric: the zero point is 0."""
    return array * 0 if array.dtype == np.uint8 and array.max() > 0 else None


def one_step(array: Array, generator: Generator) -> Array | None:
    """One scale for all channels: the largest."""
    return np.full_like(array, array.max()) if array.ndim == 1 and array.size > 1 else None


def turned_steps(array: Array, generator: Generator) -> Array | None:
    return np.roll(array, 1) if array.ndim == 1 and array.size > 1 else None


def branches(model: Model, node: Node, generator: Generator) -> None:
    for item in node.attribute:
        item.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[item.name]


def choices(model: Model, node: Node, generator: Generator) -> None:
    node.input[1], node.input[2] = node.input[2], node.input[1]


def turns(step: int) -> Callable[[Array, Generator], Array | None]:
    return lambda array, generator: array + step


def halves_and_adds(model: Model, node: Node) -> bool:
    """Whether the body of a loop is a product and a sum."""
    body: onnx.GraphProto = next(item.g for item in node.attribute if item.name == "body")
    return {"Mul", "Add"} <= {inner.op_type for inner in body.node}


def body_order(model: Model, node: Node, generator: Generator) -> None:
    """(y + 1) / 2 for y / 2 + 1."""
    body: onnx.GraphProto = next(item.g for item in node.attribute if item.name == "body")
    by_kind = {inner.op_type: inner for inner in body.node}
    first, second = by_kind["Mul"], by_kind["Add"]
    first.op_type, second.op_type = "Add", "Mul"
    first.input[1], second.input[1] = second.input[1], first.input[1]


def branch_operator(model: Model, node: Node, generator: Generator) -> None:
    body: onnx.GraphProto = next(item.g for item in node.attribute if item.name == "else_branch")
    body.node[0].op_type = "Abs"


def nms_corners(model: Model, node: Node, generator: Generator) -> None:
    """Overlaps of boxes with their coordinates in another order: x and y exchanged in one corner."""
    order = model.constant(np.array([1, 0, 2, 3], np.int64))
    model.before(node, 0, "Gather", order, axis=2)


FAULTS = (
    Fault("NMS: another overlap", weights("NonMaxSuppression", 3, factor(0.4))),
    Fault("NMS: another least score", weights("NonMaxSuppression", 4, factor(2.2))),
    Fault("NMS: fewer boxes", weights("NonMaxSuppression", 2, lambda array, generator: array - 2)),
    Fault("NMS: centre for corners", attribute("NonMaxSuppression", "center_point_box", lambda model, node: [1])),
    Fault("NMS: corners mixed up", each("NonMaxSuppression", nms_corners, always)),
    Fault("boxes as centre and size", each("Mul", half_extent, by_name("half_span"))),
    Fault("anchors moved", weights("Add", 1, anchors)),
    Fault("anchors larger", weights("Mul", 1, larger)),
    Fault("another variance of boxes", weights("Mul", 1, variance)),
    Fault("through float16", each("Conv Gemm MatMul Add Relu LSTM Mul", through(FLOAT16), is_single)),
    Fault("through bfloat16", each("Conv Gemm MatMul Add Relu Mul", through(BFLOAT16), is_single)),
    Fault("through an integer", each("Conv Gemm Add Mul", through(INT32), is_single)),
    Fault(
        "through 8 bits",
        each("Cast Floor Round", byte_wrap, lambda model, node: model.seen[node.output[0]].dtype == np.float32),
    ),
    Fault("another quantization scale", scale_of(1, 1.1)),
    Fault("a slightly other quantization scale", scale_of(1, 1.02)),
    Fault("another zero point", weights("QuantizeLinear DequantizeLinear", 2, zero_point)),
    Fault("no zero point", weights("QuantizeLinear DequantizeLinear", 2, signed_zero)),
    Fault("one scale for all channels", weights("DequantizeLinear", 1, one_step)),
    Fault("scales of channels turned", weights("DequantizeLinear", 1, turned_steps)),
    Fault("a quantization left out", each("QuantizeLinear", unquantized, always)),
    Fault("branches of an If exchanged", each("If", branches, always)),
    Fault("another operator in a branch", each("If", branch_operator, always)),
    Fault("branches of a Where exchanged", each("Where", choices, always)),
    Fault("a turn of a Loop more", weights("Loop", 0, turns(1))),
    Fault("a turn of a Loop less", weights("Loop", 0, turns(-1))),
    Fault("steps of a Loop in another order", each("Loop", body_order, halves_and_adds)),
)

__all__ = ["FAULTS", "halves_and_adds"]

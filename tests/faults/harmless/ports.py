"""Rewrites of indices, masks, choices and bounds, and nodes that do nothing for any number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.faults.model import Model, Node, get, put

from .operators import number
from .rewrite import Rewrite, everywhere, replaced

DOUBLE, SATURATED = 11, 1e4
"""float64 to ONNX; beyond what sigmoid and tanh tell from their ends."""


def trilu_as_product(model: Model, node: Node) -> bool:
    """A triangle as the product with one of ones, of a matrix of a known size."""
    shape, diagonal = model.shape(node.input[0]) or (), model.operand(node, 1)
    kind = model.seen[node.output[0]].dtype
    turn = np.triu if get(node, "upper", 1) else np.tril
    ones = turn(np.ones(shape[-2:], kind), 0 if diagonal is None else int(diagonal))
    model.become(node, "Mul", [node.input[0], model.constant(ones, "triangle")])
    return True


def einsum_as_matmul(model: Model, node: Node) -> bool:
    if get(node, "equation") != "bij,bjk->bik":
        return False
    model.become(node, "MatMul")
    return True


def modulo_rows(model: Model, node: Node) -> bool:
    """Indices of a table taken modulo its rows, which leads negative ones to the same."""
    table, indices = model.weight(node.input[0]), model.seen.get(node.input[1])
    if table is None or indices is None or indices.ndim < 2 or get(node, "axis", 0):
        return False
    model.before(node, 1, "Mod", model.constant(np.array(len(table), indices.dtype), "rows"))
    return True


def choice_negated(model: Model, node: Node) -> bool:
    condition, first, second = node.input
    negated = model.fresh(f"{node.name}_not")
    return replaced(model, node, [
        ("Not", [condition], negated, {}), ("Where", [negated, second, first], node.output[0], {}),
    ])  # fmt: skip


def greater_as_less(model: Model, node: Node) -> bool:
    model.become(node, "Less", node.input[::-1])
    return True


def less_or_equal_as_not_greater(model: Model, node: Node) -> bool:
    more = model.fresh(f"{node.name}_more")
    return replaced(model, node, [("Greater", list(node.input), more, {}), ("Not", [more], node.output[0], {})])


def behind(kind: str, *bounds: float) -> Callable[[Model, Node], bool]:
    """A node behind another that does nothing for any number."""

    def change(model: Model, node: Node) -> bool:
        if model.seen[node.output[0]].dtype.kind != "f":
            return False
        model.after(node, kind, *(number(model, node, bound) for bound in bounds))
        return True

    return change


def square_as_product(model: Model, node: Node) -> bool:
    power = model.operand(node, 1)
    if power is None or power.size != 1 or float(power.reshape(-1)[0]) != 2:
        return False
    model.become(node, "Mul", [node.input[0], node.input[0]])
    return True


def negative_as_product(model: Model, node: Node) -> bool:
    model.become(node, "Mul", [node.input[0], number(model, node, -1.0)])
    return True


def maximum_by_axes(model: Model, node: Node) -> bool:
    """A maximum over a square of 3 x 3 as one over rows and one over columns."""
    pads, strides = list(get(node, "pads", ())), list(get(node, "strides", [1, 1]))
    if list(get(node, "kernel_shape")) != [3, 3] or pads != [1] * 4 or strides != [1, 1] or len(node.output) > 1:
        return False
    rows = model.fresh(f"{node.name}_rows")
    return replaced(model, node, [
        ("MaxPool", [node.input[0]], rows, {"kernel_shape": [3, 1], "pads": [1, 0, 1, 0]}),
        ("MaxPool", [rows], node.output[0], {"kernel_shape": [1, 3], "pads": [0, 1, 0, 1]}),
    ])  # fmt: skip


def branches_by_negation(model: Model, node: Node) -> bool:
    model.before(node, 0, "Not")
    other = {"then_branch": "else_branch", "else_branch": "then_branch"}
    for held in model.node(node.name).attribute:
        held.name = other[held.name]
    return True


def other_momentum(model: Model, node: Node) -> bool:
    """What only training reads."""
    put(node, "momentum", 0.5)
    return True


def turned_and_back(model: Model, node: Node) -> bool:
    """Two Transposes that undo each other."""
    rank = len(model.shape(node.output[0]) or ())
    if rank < 3:
        return False
    perm = [0, *range(2, rank), 1]
    first = model.after(node, "Transpose", perm=perm)
    model.after(first, "Transpose", perm=[perm.index(axis) for axis in range(rank)])
    return True


def through_double(model: Model, node: Node) -> bool:
    if model.seen[node.output[0]].dtype != np.float32:
        return False
    model.after(model.after(node, "Cast", to=DOUBLE), "Cast", to=1)
    return True


def saturated_clip(model: Model, node: Node) -> bool:
    """What gates are given bounded where they are saturated: they give the same."""
    put(node, "clip", SATURATED)
    return True


REWRITES = (
    Rewrite("Trilu as Mul", everywhere("Trilu", trilu_as_product)),
    Rewrite("Einsum as MatMul", everywhere("Einsum", einsum_as_matmul)),
    Rewrite("indices modulo the rows", everywhere("Gather", modulo_rows)),
    Rewrite("Where by the negation", everywhere("Where", choice_negated)),
    Rewrite("If by the negation", everywhere("If", branches_by_negation)),
    Rewrite("Greater as Less", everywhere("Greater", greater_as_less)),
    Rewrite("LessOrEqual as Not Greater", everywhere("LessOrEqual", less_or_equal_as_not_greater)),
    Rewrite("Max with minus infinity", everywhere("Conv Gemm Add", behind("Max", -np.inf))),
    Rewrite("Min with infinity", everywhere("Conv Gemm Add", behind("Min", np.inf))),
    Rewrite("a lower bound of what has none below", everywhere("Relu Sigmoid Softmax Tanh", behind("Max", -1000.0))),
    Rewrite("an upper bound of what has none beyond", everywhere("Sigmoid Softmax Tanh", behind("Min", 1000.0))),
    Rewrite("magnitudes of what has no sign", everywhere("Relu Sigmoid Softmax", behind("Abs"))),
    Rewrite("Relu twice", everywhere("Relu", behind("Relu"))),
    Rewrite("Pow of 2 as Mul", everywhere("Pow", square_as_product)),
    Rewrite("Neg as Mul", everywhere("Neg", negative_as_product)),
    Rewrite("MaxPool by rows and columns", everywhere("MaxPool", maximum_by_axes)),
    Rewrite("another momentum", everywhere("BatchNormalization", other_momentum)),
    Rewrite("two Transposes that undo each other", everywhere("Conv Add", turned_and_back)),
    Rewrite("through float64", everywhere("Relu Sigmoid Add", through_double)),
    Rewrite("gates clipped where they are saturated", everywhere("LSTM GRU", saturated_clip)),
)

__all__ = ["REWRITES"]

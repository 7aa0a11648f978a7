"""Matrix products: those of one operand become one, scales move into weights, transposes and sums into Gemm.

Every product is of the same numbers, so that it rounds otherwise at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.shape import Reshape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Split
from graphir.tensor import Tensor
from graphir.types import DType

from ..patterns import Either, Names, Pattern, number_of
from ..rewrite import Accepted, Rule, Rules, bypass
from .fusion import Fusion, Operands, decide, is_same_type, rules, take_over

FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
MOVES = (Reshape, Transpose, Squeeze, Unsqueeze)


def _tensor(value: Value | None) -> Tensor | None:
    """Return the tensor of a parameter of floats."""
    tensor = None if value is None or value.producer is not None else value.tensor
    return tensor if tensor is not None and tensor.dtype in FLOATS else None


def _weight(node: Node) -> Tensor | None:
    """Return the constant matrix that a product alone multiplies a computed operand with, None for other nodes."""
    value = node.inputs[1] if isinstance(node.op, MatMul | Gemm) else None
    tensor = _tensor(value)
    if value is None or tensor is None or len(tensor.shape) != 2 or value.graph is not node.graph:
        return None
    return tensor if len(value.uses) == 1 and not value.is_held else None


def _only_user(value: Value) -> Node | None:
    """Return the node of the value's graph that alone uses it, once; None for outputs of graphs."""
    users = list(value.uses)
    return users[0][0] if len(users) == 1 and not value.is_held and users[0][0].graph is value.graph else None


def _shift(node: Node) -> tuple[Node, Value | None] | None:
    """Return the node that gives a product with its shift, and the shift, one number for each column or None.

    A Gemm has its own, a MatMul an Add that alone reads it. None for a Gemm with another kind of operand or factor.
    """
    weight = node.inputs[1]
    assert weight is not None
    assert weight.shape is not None
    if isinstance(node.op, Gemm):
        columns = weight.shape[0 if node.op.transB else 1]
        bias = node.operand(2)
        plain = (node.op.alpha, node.op.beta, node.op.transA) == (1, 1, False)
        tensor = _tensor(bias)
        fits = bias is None or (tensor is not None and tensor.shape == (columns,))
        return (node, bias) if plain and fits else None
    user = _only_user(node.outputs[0])
    if user is None or not isinstance(user.op, ew.Add):
        return node, None
    other = user.inputs[0] if user.inputs[1] is node.outputs[0] else user.inputs[1]
    tensor = _tensor(other)
    return (user, other) if tensor is not None and tensor.shape == weight.shape[1:] else (node, None)


def _join(graph: Graph, values: Sequence[Value], axis: int) -> Value:
    """Return a parameter that holds those of others one after the other, computed when it is read."""
    tensors = [value.tensor for value in values if value.tensor is not None]
    shape = list(tensors[0].shape)
    shape[axis] = sum(tensor.shape[axis] for tensor in tensors)

    def concatenate() -> NDArray[Any]:
        return np.concatenate([tensor.numpy() for tensor in tensors], axis)

    joined = Tensor.computed(tensors[0].dtype, tuple(shape), concatenate)
    return graph.add_parameter(graph.fresh_name(f"{values[0].name}_joined"), joined)


def merge_products(graph: Graph, node: Node) -> Accepted:
    """Multiply one operand with several constant matrices at once, and split the result.

    Right because each column of a product depends on one column of the matrix. Done where that leaves fewer nodes: for
    three products, or two that are shifted by an Add each. Only products of one kind, all with a shift or all without.
    """
    x, first = node.inputs[0], _shift(node) if _weight(node) is not None else None
    if x is None or first is None or node.outputs[0].rank is None:
        return False
    group: list[tuple[Node, Node, Value | None]] = []
    for other in x.users():
        shift = _shift(other) if other.op == node.op and other.inputs[0] is x and _weight(other) is not None else None
        if shift is not None and (shift[1] is None) == (first[1] is None) and other.graph is graph:
            group.append((other, *shift))
    if len(group) < (2 if first[0] is not node else 3):
        return False
    _put_merged(graph, node, group)
    decide(graph, first[0], f"products of {x.name} with {len(group)} matrices are one product")
    return True


def _put_merged(graph: Graph, node: Node, group: Sequence[tuple[Node, Node, Value | None]]) -> None:
    """Put one product in front of the first of those that it stands for, and what splits it behind that."""
    op = node.op
    weights = [product.inputs[1] for product, *_ in group]
    shifts = [shift for *_, shift in group if shift is not None]
    sizes = [last.outputs[0].shape[-1] for _, last, _ in group]  # type: ignore[index]
    columns = 0 if isinstance(op, Gemm) and op.transB else 1
    operands = [node.inputs[0], _join(graph, [weight for weight in weights if weight is not None], columns)]
    shift = _join(graph, shifts, 0) if shifts else None
    if shift is not None and isinstance(op, Gemm):
        operands.append(shift)
    whole = graph.add(op, *operands, name=f"{node.name}_joined", before=node)
    if shift is not None and isinstance(op, MatMul):
        whole = graph.add(ew.Add(), whole, shift, name=f"{node.name}_shifted", before=node)
    parts = Split(num_outputs=len(group), axis=-1)
    split = graph.add_node(parts, (whole, graph.constant(np.array(sizes))), name=f"{node.name}_split", before=node)
    for (product, last, _), part in zip(group, split.outputs, strict=True):
        take_over(graph, last.outputs[0], part)
        if last is not product:
            graph.erase(product)


def fold_scale(graph: Graph, node: Node) -> Accepted:
    """Multiply a number that scales a result into the constant matrix of a product in front of it.

    Right because products, sums with a scaled shift, and what moves elements are linear. Between the two lies nothing
    else, nothing else reads what lies there, and the number is neither 0 nor infinite. Not in float16, whose range the
    matrix may leave.
    """
    by = number_of(node.inputs[1])
    value, by = (node.inputs[0], by) if by is not None else (node.inputs[1], number_of(node.inputs[0]))
    is_quotient = isinstance(node.op, ew.Div)
    if value is None or not by or not np.isfinite(by) or (is_quotient and value is not node.inputs[0]):
        return False
    if value.dtype not in (DType.FLOAT32, DType.FLOAT64) or not is_same_type(value, node.outputs[0]):
        return False
    places = _scaled_places(value)
    if not places or not bypass(graph, node, value):
        return False
    for user, slot in places:
        _scale(graph, user, slot, 1 / by if is_quotient else by)
    decide(graph, node, "a number that scales a product went into its matrix")
    return True


def _scaled_places(value: Value | None) -> list[tuple[Node, int]]:
    """Return the nodes and slots of the constants by which a value is scaled; none if it is not by constants alone."""
    node = None if value is None else value.producer
    if value is None or node is None or _only_user(value) is None:
        return []
    if isinstance(node.op, MOVES):
        return _scaled_places(node.inputs[0])
    if isinstance(node.op, ew.Add):
        for slot in (0, 1):
            if _tensor(node.inputs[slot]) is not None and (inner := _scaled_places(node.inputs[1 - slot])):
                return [*inner, (node, slot)]
    if _weight(node) is not None:
        shift = node.operand(2)
        return [(node, 1)] if shift is None else [(node, 1), (node, 2)] if _tensor(shift) is not None else []
    if isinstance(node.op, MatMul):
        return _scaled_places(node.inputs[0]) or _scaled_places(node.inputs[1])
    return []


def _scale(graph: Graph, node: Node, slot: int, by: float) -> None:
    """Put a constant in a slot that is the one there times a number, computed when it is read."""
    old = node.inputs[slot]
    assert old is not None
    tensor = old.tensor
    assert tensor is not None

    def scaled() -> NDArray[Any]:
        return (tensor.numpy().astype(np.float64) * by).astype(tensor.dtype.numpy())

    product = Tensor.computed(tensor.dtype, tensor.shape, scaled)
    new = graph.add_parameter(graph.fresh_name(f"{old.name}_scaled"), product)
    new.sources = old.sources
    graph.replace_input(node, slot, new)


def join_scales(graph: Graph, node: Node) -> Accepted:
    """Scale one operand of a product by the numbers of both: (a * c) (b * d) is (a * (c * d)) b."""
    scales = [value.producer for value in node.inputs if value is not None and value.producer is not None]
    if len(scales) != 2 or any(not isinstance(scale.op, ew.Mul) or scale.graph is not graph for scale in scales):
        return False
    values, numbers = zip(*map(_scaled_operand, scales), strict=True)
    if None in values or any(_only_user(scale.outputs[0]) is not node for scale in scales):
        return False
    dtype = values[0].dtype
    if dtype not in (DType.FLOAT32, DType.FLOAT64):
        return False
    number = graph.constant(np.array(numbers[0] * numbers[1], dtype.numpy()), name=f"{scales[0].name}_scale")
    graph.replace(scales[0], ew.Mul(), (values[0], number))
    graph.replace_input(node, 1, values[1])
    decide(graph, node, "numbers that scale both operands of a product scale one of them")
    return True


def _scaled_operand(scale: Node) -> tuple[Value | None, float]:
    """Return what a Mul scales by one number and keeps the shape of, and the number."""
    for value, other in (scale.inputs, scale.inputs[::-1]):
        number = number_of(other)
        if value is not None and number is not None and is_same_type(value, scale.outputs[0]):
            return value, number
    return None, 0


def _gemm(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """All operands must be matrices of floats, and what is added no wider than the result."""
    operands = [names[name] for name in "abc" if name in names]
    if any(value.rank != 2 for value in operands[:2]) or operands[0].dtype not in FLOATS:
        return None
    product = isinstance(node.op, MatMul)
    turned = [product and value is not names[name] for name, value in zip("ab", node.inputs, strict=False)]
    return Gemm(transA=turned[0], transB=turned[1]), operands


TURNED = Either(
    Pattern(MatMul, Pattern(Transpose, "a"), Pattern(Transpose, "b")),
    Pattern(MatMul, Pattern(Transpose, "a"), "b"),
    Pattern(MatMul, "a", Pattern(Transpose, "b")),
)
FUSIONS = rules(
    Fusion("a product of transposed matrices is a Gemm", TURNED, _gemm),
    Fusion("a product of matrices and a sum are a Gemm", Pattern(ew.Add, Pattern(MatMul, "a", "b"), "c"), _gemm),
)
MERGE = Rule("products of one operand with several matrices are one", merge_products)
SCALE = Rule("a number that scales a product went into its matrix", fold_scale)
JOIN = Rule("numbers that scale both operands of a product scale one of them", join_scales)
RULES: Rules = {
    MatMul: (*FUSIONS[MatMul], JOIN),
    ew.Add: FUSIONS[ew.Add],
    **dict.fromkeys((ew.Mul, ew.Div), (SCALE,)),
}
# After the others, which are for single products.
MERGES: Rules = dict.fromkeys((MatMul, Gemm), (MERGE,))

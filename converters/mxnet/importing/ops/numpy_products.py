"""Products of MXNet's NumPy-style interface: matmul, dot, tensordot, einsum.

All but einsum take floats only. MXNet's CPU kernels of them lack float16, which its GPU kernels have.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.linear import Einsum, MatMul
from graphir.ops.shape import Expand, Unsqueeze
from graphir.types import Dim, DType

LETTERS = string.ascii_letters


def _floats(node: ImportNode) -> tuple[Value, Value]:
    left, right = node.input(0), node.input(1)
    for value in (left, right):
        if value.dtype is not None and not value.dtype.is_float:
            node.refuse(f"{value.name} is {value.dtype}, expected floats, as MXNet does")
    return left, right


def import_matmul(node: ImportNode) -> Value:
    """Products of the last two axes; those before them broadcast."""
    left, right = _floats(node)
    if 0 in (node.rank(left), node.rank(right)):
        node.refuse(f"operands {left.type} and {right.type}; MXNet wants each to have an axis")
    return node.emit(MatMul(), left, right)


def _einsum(node: ImportNode, op: Einsum, operands: Sequence[Value]) -> Value:
    """Return the operator, or zeros where sums of no products are known to be: onnxruntime divides by 0 in some of
    them, which ends its process."""
    terms, result = op.terms()
    sizes: dict[str, Dim] = {}
    for term, value in zip(terms, operands, strict=True):
        if value.rank == len(term) and "." not in term:  # the operator itself refuses others
            sizes.update(zip(term, value.shape or (), strict=True))
    shape = [size for label in result if isinstance(size := sizes.get(label), int)]
    if any(size == 0 for label, size in sizes.items() if label not in result) and len(shape) == len(result):
        return node.emit(Expand(), node.scalar_like(operands[0], 0), node.vector(shape))
    return node.emit(op, *operands)


def _contracted(node: ImportNode, left: Value, right: Value, first: Sequence[int], second: Sequence[int]) -> Value:
    """Return the products summed over pairs of axes; the other axes of the left stand before those of the right."""
    ranks = node.rank(left), node.rank(right)
    if sum(ranks) - len(first) > len(LETTERS):
        node.refuse(f"operands of {ranks[0]} and {ranks[1]} axes")
    if not first and 0 in ranks:
        return node.emit(ew.Mul(), left, right)
    if list(first) == [ranks[0] - 1] and list(second) == [max(ranks[1] - 2, 0)] and ranks[1] <= 2:
        return node.emit(MatMul(), left, right)
    a = list(LETTERS[: ranks[0]])
    b = list(LETTERS[ranks[0] : sum(ranks)])
    for one, other in zip(first, second, strict=True):
        b[other] = a[one]
    kept = [letter for letter in a if letter not in b] + [letter for letter in b if letter not in a]
    return _einsum(node, Einsum(f"{''.join(a)},{''.join(b)}->{''.join(kept)}"), (left, right))


def import_dot(node: ImportNode) -> Value:
    """Return the last axis of the left against the last but one of the right, its only one for a vector; scalars
    multiply."""
    left, right = node.input(0), node.input(1)
    ranks = node.rank(left), node.rank(right)
    if 0 in ranks:
        return node.emit(ew.Mul(), left, right)
    _floats(node)
    return _contracted(node, left, right, [ranks[0] - 1], [max(ranks[1] - 2, 0)])


def import_tensordot(node: ImportNode) -> Value:
    """Products summed over pairs of axes."""
    left, right = _floats(node)
    ranks = node.rank(left), node.rank(right)
    stated = node.attrs["a_axes_summed"], node.attrs["b_axes_summed"]
    if len(stated[0]) != len(stated[1]):
        node.refuse(f"{len(stated[0])} and {len(stated[1])} axes, expected equally many")
    first, second = (
        [node.axis(axis, rank) for axis in axes] for axes, rank in zip(stated, ranks, strict=True)
    )
    if len(set(first)) != len(first) or len(set(second)) != len(second):
        node.refuse(f"axes {list(stated[0])} and {list(stated[1])} name one twice")
    return _contracted(node, left, right, first, second)


def import_tensordot_of_last(node: ImportNode) -> Value:
    """Products summed over the last axes of the left and the first of the right."""
    left, right = _floats(node)
    ranks, count = (node.rank(left), node.rank(right)), node.attrs["axes"]
    if not 0 <= count <= min(ranks):
        node.refuse(f"axes {count} of operands of {ranks[0]} and {ranks[1]} axes")
    return _contracted(node, left, right, range(ranks[0] - count, ranks[0]), range(count))


def _with_equal_ellipses(node: ImportNode, terms: Sequence[str]) -> list[Value]:
    """Return the operands, in which `...` stands for equally many axes, as ONNX's shape inference wants it."""
    counts = {
        slot: node.rank(slot) - len(term.replace(".", "")) for slot, term in enumerate(terms) if "..." in term
    }
    operands = list(node.inputs)
    for slot, count in counts.items():
        missing, index = max(counts.values()) - count, terms[slot].index("...")
        if missing:
            axes = node.vector(range(index, index + missing))
            operands[slot] = node.step(Unsqueeze(), operands[slot], axes, suffix="unsqueezed")
    return operands


def import_einsum(node: ImportNode) -> Value:
    """Products summed over the labels that the result lacks, as in numpy; small integers and bool wrap around."""
    equation = Einsum(node.attrs["subscripts"].replace(" ", ""))
    terms, result = equation.terms()
    labels = set("".join(terms))
    if len(terms) != len(node):
        node.refuse(f"subscripts {equation.equation!r} have {len(terms)} terms for {len(node)} operands")
    if not labels >= set(result) or len(set(result.replace(".", ""))) != len(result.replace(".", "")):
        node.refuse(f"subscripts {equation.equation!r}: the result's labels are not each once, or not in an operand")
    op = Einsum(f"{','.join(terms)}->{result}")
    dtype = node.input(0).dtype
    operands = _with_equal_ellipses(node, terms)
    if dtype is None or dtype.is_float or dtype.bits >= 32:
        return _einsum(node, op, operands)
    wide = [node.cast(value, DType.INT32, suffix="wide") for value in operands]
    return node.emit(ew.Cast(dtype), _einsum(node, op, wide))


IMPORTS: dict[str, ImportFunction] = {
    "_np_dot": import_dot,
    "_npi_einsum": import_einsum,
    "_npi_matmul": import_matmul,
    "_npi_tensordot": import_tensordot,
    "_npi_tensordot_int_axes": import_tensordot_of_last,
}

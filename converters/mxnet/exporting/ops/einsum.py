"""Sums of products by labels, as dot and batch_dot of reshaped operands, and determinants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.linear import emit_product, operand, product_dtype
from graphir.converters.mxnet.exporting.ops.steps import bind_last
from graphir.decisions import DecisionKind
from graphir.ops.linear import Det, Einsum
from graphir.types import Dim, DType, Shape, product


@dataclass(frozen=True)
class Term:
    """A tensor on the way: its entry, one label an axis, and the sizes of the axes."""

    entry: Entry
    labels: tuple[str, ...]
    sizes: Shape

    def size(self, labels: tuple[str, ...]) -> Dim:
        """Return the number of elements along some of the labels."""
        return product(self.sizes[self.labels.index(label)] for label in labels)


def _labels(term: str, hidden: int) -> tuple[str, ...]:
    """Return the labels of a term; the axes that `...` stands for are called by their places from the end."""
    before, dots, after = term.partition("...")
    return (*before, *((f"...{index}" for index in range(-hidden, 0)) if dots else ()), *after)


def _terms(node: ExportNode[Einsum]) -> tuple[list[Term], tuple[str, ...]]:
    """Return the operands with their labels, each label once in each, and the labels of the result."""
    op = node.op
    texts, result = op.terms()
    results: list[Term] = []
    widest = 0
    for slot, text in enumerate(texts):
        sizes = node.shape(slot)
        hidden = len(sizes) - len(text.replace("...", ""))
        widest = max(widest, hidden if "..." in text else 0)
        results.append(_with_diagonals(node, Term(operand(node, slot), _labels(text, hidden), sizes)))
    return results, _labels(result, widest)


def _with_diagonals(node: AnyNode, term: Term) -> Term:
    """Return the term with each label once: of axes with one label only the diagonal is kept."""
    for label in dict.fromkeys(term.labels):
        while term.labels.count(label) > 1:
            first = term.labels.index(label)
            second = term.labels.index(label, first + 1)
            others = tuple(axis for axis in range(len(term.labels)) if axis not in (first, second))
            (size,) = node.fixed(term.sizes[first : first + 1], f"an axis {label} of which the diagonal is taken")
            entry = node.step("transpose", term.entry, suffix="pair", axes=(*others, first, second))
            sizes = tuple(term.sizes[axis] for axis in others)
            entry = node.step("Reshape", entry, suffix="pair", shape=(*(0 for _ in sizes), size * size))
            around = (None,) * len(others)
            steps = {"begin": (*around, 0), "end": (*around, None), "step": (*around, size + 1)}
            entry = node.step("slice", entry, suffix="diagonal", **steps)
            term = Term(entry, (*(term.labels[axis] for axis in others), label), (*sizes, size))
    return term


def _reduced(node: AnyNode, term: Term, keep: set[str]) -> Term:
    """Return the term summed over the labels that nothing else needs, and without the axes of one element that others
    have."""
    gone = tuple(axis for axis, label in enumerate(term.labels) if label not in keep)
    if not gone:
        return term
    left = [axis for axis in range(len(term.labels)) if axis not in gone]
    entry = node.step("sum", term.entry, axis=gone, keepdims=not left)
    if not left:
        entry = node.step("Reshape", entry, suffix="one", shape=(1,))
    return Term(entry, tuple(term.labels[axis] for axis in left), tuple(term.sizes[axis] for axis in left))


def _without_stretched(node: AnyNode, term: Term, others: list[Term]) -> Term:
    """Return the term without axes of one element that another term has longer."""
    long = {label for other in others for label, size in zip(other.labels, other.sizes, strict=True) if size != 1}
    short = {label for label, size in zip(term.labels, term.sizes, strict=True) if size == 1 and label in long}
    return _reduced(node, term, set(term.labels) - short)


def _reshaped(node: AnyNode, entry: Entry, shape: Shape, suffix: str) -> Entry:
    """Return the entry with a shape of which one size may be open."""
    codes = tuple(size if isinstance(size, int) else -1 for size in shape)
    if codes.count(-1) > 1:
        node.refuse(f"more than one of the sizes {list(shape)} is open; state the inputs' shapes")
    return node.step("Reshape", entry, suffix=suffix, shape=codes)


def _arranged(node: AnyNode, term: Term, order: tuple[str, ...], shape: Shape) -> Entry:
    """Return the term's entry with its axes in order and joined to the shape."""
    entry = term.entry
    axes = tuple(term.labels.index(label) for label in order)
    if axes != tuple(range(len(axes))):
        entry = node.step("transpose", entry, suffix="ordered", axes=axes)
    if shape == tuple(term.sizes[axis] for axis in axes):
        return entry
    return _reshaped(node, entry, shape, "joined")


def _product(node: AnyNode, left: Term, right: Term, keep: set[str]) -> Term:
    """Two terms multiplied, summed over the labels of both that nothing else needs."""
    shared = tuple(label for label in left.labels if label in right.labels)
    batch = tuple(label for label in shared if label in keep)
    inner = tuple(label for label in shared if label not in keep)
    rows = tuple(label for label in left.labels if label not in shared)
    columns = tuple(label for label in right.labels if label not in shared)
    labels = (*batch, *rows, *columns)
    sizes = (*(left.size((label,)) for label in (*batch, *rows)), *(right.size((label,)) for label in columns))
    count = left.size(inner)
    first_shape: Shape = (left.size(rows), count)
    second_shape: Shape = (count, right.size(columns))
    if batch:
        first_shape, second_shape = (left.size(batch), *first_shape), (left.size(batch), *second_shape)
    first = _arranged(node, left, (*batch, *rows, *inner), first_shape)
    second = _arranged(node, right, (*batch, *inner, *columns), second_shape)
    entry = node.step("batch_dot" if batch else "dot", first, second, suffix="product")
    wanted = sizes or (1,)
    if wanted != (*first_shape[:-1], second_shape[-1]):
        entry = _reshaped(node, entry, wanted, "apart")
    return Term(entry, labels, sizes)


def _as_dot(node: ExportNode[Einsum]) -> bool:
    """Return one dot, where the last or first axes of two operands are summed and the others follow; whether it is
    one."""
    op = node.op
    terms, result = op.terms()
    if len(terms) != 2 or "." in op.equation or not node.dtype().is_float:
        return False
    left, right = terms
    shared = set(left) & set(right)
    if len(shared) != 1 or len(set(left)) != len(left) or len(set(right)) != len(right):
        return False
    label = shared.pop()
    if label in result or left.replace(label, "") + right.replace(label, "") != result or not result:
        return False
    if label not in (left[0], left[-1]) or label not in (right[0], right[-1]):
        return False
    if any(value is None or value.rank is None for value in node.node.inputs):
        return False
    if node.shape(0)[left.index(label)] != node.shape(1)[right.index(label)]:
        return False
    turn_left, turn_right = label != left[-1], label != right[0]
    if product_dtype(node.dtype()) is not node.dtype():
        return False
    node.emit("dot", node.entry(0), node.entry(1), transpose_a=turn_left, transpose_b=turn_right)
    return True


def _as_batch_dot(node: ExportNode[Einsum]) -> bool:
    """Return one batch_dot, where both operands are matrices behind equal batch axes; whether it is one."""
    op = node.op
    texts, result_text = op.terms()
    dtype = node.dtype()
    if len(texts) != 2 or product_dtype(dtype) is not dtype:
        return False
    shapes = [node.shape(slot) for slot in range(2)]
    hidden = [len(shape) - len(text.replace("...", "")) for shape, text in zip(shapes, texts, strict=True)]
    left, right = (_labels(text, count) for text, count in zip(texts, hidden, strict=True))
    result = _labels(result_text, max(hidden))
    batch = left[:-2]
    if not batch or batch != right[:-2] or batch != result[:-2] or shapes[0][:-2] != shapes[1][:-2]:
        return False
    shared = set(left[-2:]) & set(right[-2:])
    if len(shared) != 1 or any(len(set(labels)) != len(labels) for labels in (left, right, result)):
        return False
    (label,) = shared
    if shapes[0][left.index(label)] != shapes[1][right.index(label)]:
        return False
    (row,), (column,) = (set(labels[-2:]) - shared for labels in (left, right))
    if result[-2:] != (row, column) or label in result:
        return False
    attributes: dict[str, Any] = {"transpose_a": left[-2] == label or None, "transpose_b": right[-1] == label or None}
    node.emit("batch_dot", node.entry(0), node.entry(1), **attributes)
    return True


def _size_of(terms: list[Term], label: str) -> Dim:
    """Return the size of a label: of terms that broadcast the one that is not 1."""
    result: Dim = 1
    for term in terms:
        if label in term.labels and result == 1:
            result = term.size((label,))
    return result


def export_einsum(node: ExportNode[Einsum]) -> None:
    """One dot or batch_dot where that says it; else the operands are multiplied from left to right."""
    if not node.dtype().is_float:
        node.decide(DecisionKind.INTEGER_PRODUCT, "computed in float64: exact as long as the sums are below 2^53")
    if _as_dot(node) or _as_batch_dot(node):
        return
    terms, result = _terms(node)
    sizes = tuple(_size_of(terms, label) for label in result)
    if 0 in sizes or any(0 in term.sizes for term in terms):
        node.refuse("MXNet has no tensors without elements")
    outcome, *others = terms
    while others:
        keep = set(result).union(*(other.labels for other in others))
        outcome = _reduced(node, _without_stretched(node, outcome, others), keep)
        second, *others = others
        keep = set(result).union(outcome.labels, *(other.labels for other in others))
        second = _reduced(node, _without_stretched(node, second, [outcome, *others]), keep)
        outcome = _product(node, outcome, second, set(result).union(*(other.labels for other in others)))
    outcome = _reduced(node, outcome, set(result))
    order = tuple(label for label in result if label in outcome.labels)
    entry = _arranged(node, outcome, order, sizes or (1,))
    _emit(node, entry)


def _emit(node: AnyNode, entry: Entry) -> None:
    dtype: DType = node.dtype()
    if product_dtype(dtype) is dtype:
        bind_last(node, entry)
    else:
        node.emit("Cast", entry, dtype=dtype.value)


EXPORTS = table(row(Einsum, export_einsum), row(Det, lambda node: emit_product(node, "_linalg_det", operand(node, 0))))

"""Sizes that are computed at each run, and need not be: what inference knows of them is in named sizes, not only in
numbers.

`SIZES` are rules: a Reshape takes a constant, in which 0 copies a size and -1 is the rest; so do chains of operators
that only give a tensor another shape, as one; an Expand takes 1 where its operand has the size already.
`share_known_sizes` computes equal sizes once. No input's size becomes a number. Exact: no number changes.

A named size is at least 1, as everywhere in inference; one with a colon in its name, which only a run can tell, may be
0.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.elements import is_natural
from graphir.ops.shape import Expand, Flatten, Reshape, Squeeze, Transpose, Unsqueeze
from graphir.types import Dim, DType, Sym, Unknown, product

from .dead_code import remove_dead_code
from .outcome import Outcome
from .rewrite import Accepted, Rule, Rules, bypass

VIEWS = (Reshape, Flatten, Squeeze, Unsqueeze)
SHARED = "the same sizes are there already"


def shape_constant(source: tuple[Dim, ...], wanted: tuple[Dim, ...]) -> list[int] | None:
    """Return what a Reshape of a tensor of shape `source` takes, as numbers, to give `wanted`: 0 copies the size of the
    same axis, -1 is what remains. None where that does not say it.

    >>> from graphir.types import symbol
    >>> N, T = symbol("N"), symbol("T")
    >>> shape_constant((N, T, 32), (N, T, 4, 8)), shape_constant((N, T, 32), (N * T, 32))
    ([0, 0, 4, 8], [-1, 32])
    >>> shape_constant((N, T), (T, N)) is None
    True
    """
    numbers: list[int] = []
    for axis, dim in enumerate(wanted):
        if isinstance(dim, int):
            if dim == 0:
                return None
            numbers.append(dim)
        elif isinstance(dim, Sym) and axis < len(source) and dim == source[axis]:
            numbers.append(0)
        elif isinstance(dim, Sym) and -1 not in numbers:
            numbers.append(-1)
        else:
            return None
    if -1 in numbers and not all(number != 0 or is_natural(source[axis], 1) for axis, number in enumerate(numbers)):
        return None
    return numbers


def share_known_sizes(graph: Graph) -> Outcome:
    """Let one value stand for all integers of equal elements, known in terms of named sizes. Linear in nodes."""
    first: dict[Hashable, Value] = {}
    outcome = Outcome()
    for node in graph.nodes:
        for value in node.outputs:
            known = value.known
            if known is None or value.dtype is None or value.dtype.is_float or value.dtype is DType.BOOL:
                continue
            if any(isinstance(element, Unknown | float) for element in known.elements):
                continue
            twin = first.setdefault((value.dtype, known.shape, known.elements), value)
            if twin is not value and value.uses:
                graph.replace_uses(value, twin, outputs=False)
                outcome.note(node.name, SHARED)
    if outcome:
        outcome |= remove_dead_code(graph)
    return outcome


def _source_of_views(node: Node) -> Value:
    """Return what a chain of operators that keep the order of elements, up to this node, begins with."""
    value = node.inputs[0]
    while value is not None and value.producer is not None and _keeps_order(value.producer):
        value = value.producer.inputs[0]
    assert value is not None
    return value


def _keeps_order(node: Node) -> bool:
    """Return whether the node only gives its operand another shape: a Transpose does where all axes that change places
    with others have size 1."""
    value = node.inputs[0]
    if isinstance(node.op, VIEWS):
        before, after = None if value is None else value.shape, node.output.shape
        # A size that is not known to be 1 fails in a Squeeze where it is another, and would not in a Reshape.
        return not isinstance(node.op, Squeeze) or _has_equal_count(before, after)
    if not isinstance(node.op, Transpose) or value is None or value.shape is None:
        return False
    perm = node.op.perm or tuple(reversed(range(len(value.shape))))
    order = [axis for axis in perm if value.shape[axis] != 1]
    return order == sorted(order)


def _has_equal_count(before: tuple[Dim, ...] | None, after: tuple[Dim, ...] | None) -> bool:
    """Return whether tensors of both shapes have as many elements, whatever the named sizes are."""
    return before is not None and after is not None and product(before) == product(after)


def _join_views(graph: Graph, node: Node) -> Accepted:
    """Return one Reshape for a chain of several, or a constant for the sizes that it takes."""
    if not _keeps_order(node):
        return False
    source, result = _source_of_views(node), node.outputs[0]
    if source.shape is None or result.shape is None or any(isinstance(dim, Unknown) for dim in result.shape):
        return False
    if source.shape == result.shape:
        return bypass(graph, node, source)
    is_chain = source is not node.inputs[0]
    if not is_chain and (not isinstance(node.op, Reshape) or _is_constant(node.inputs[1])):
        return False
    form = _form(source.shape, result.shape)
    if form is None:
        return False
    op, numbers = form
    graph.replace(node, op, (source, graph.constant(np.array(numbers, np.int64), name=f"{node.name}_shape")))
    return True


def _form(source: tuple[Dim, ...], wanted: tuple[Dim, ...]) -> tuple[Operator, list[int]] | None:
    """Return the operator that gives a tensor of shape `source` the shape `wanted`, with its constant."""
    numbers = shape_constant(source, wanted)
    if numbers is not None and (-1 not in numbers or _has_equal_count(source, wanted)):
        return Reshape(), numbers
    longer, shorter = (wanted, source) if len(wanted) > len(source) else (source, wanted)
    axes = _further_ones(longer, shorter)
    return None if axes is None else (Unsqueeze() if longer is wanted else Squeeze(), axes)


def _further_ones(longer: tuple[Dim, ...], shorter: tuple[Dim, ...]) -> list[int] | None:
    """Return the axes of size 1 that the longer shape has and the shorter one lacks, if nothing else differs."""
    axes: list[int] = []
    for axis, dim in enumerate(longer):
        if axis - len(axes) < len(shorter) and dim == shorter[axis - len(axes)]:
            continue
        if dim != 1:
            return None
        axes.append(axis)
    return axes if axes and len(longer) - len(axes) == len(shorter) else None


def _is_constant(value: Value | None) -> bool:
    return value is not None and value.tensor is not None


def _expand_by_ones(graph: Graph, node: Node) -> Accepted:
    """Return 1 in place of sizes that the operand has already, so that what computes them may go."""
    value, sizes = node.inputs
    if value is None or sizes is None or sizes.known is None or sizes.tensor is not None or value.shape is None:
        return False
    wanted = sizes.known.dims()
    shape = (1,) * (len(wanted) - len(value.shape)) + value.shape
    rest = shape[len(shape) - len(wanted) :]
    numbers = [1 if dim == size else dim for dim, size in zip(wanted, rest, strict=True)]
    if not all(isinstance(number, int) for number in numbers):
        return False
    graph.replace(node, Expand(), (value, graph.constant(np.array(numbers, np.int64), name=f"{node.name}_shape")))
    return True


JOIN = Rule("its shape is a constant, with what is in front of it that only changes shapes", _join_views)
SIZES: Rules = {
    **dict.fromkeys((*VIEWS, Transpose), (JOIN,)),
    Expand: (Rule("it takes no sizes that its operand has", _expand_by_ones),),
}

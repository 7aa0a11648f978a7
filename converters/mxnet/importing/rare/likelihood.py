"""Likelihoods of sequences of labels, as loops over their steps."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.kernel.maker import Maker, Step
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.activation import LogSoftmax
from graphir.ops.elementwise import Add, And, Cast, Equal, Exp, Less, Log, Max, Neg, Not, Sub, Where
from graphir.ops.indexing import Gather, GatherElements
from graphir.ops.reduction import ReduceMin
from graphir.ops.shape import Expand, Pad, Shape, Squeeze, Unsqueeze
from graphir.types import UNKNOWN, DType

IMPOSSIBLE = -1e30
"""The logarithm of a probability of 0: finite, so that differences of two are numbers."""


def _maker(node: ImportNode, dtype: DType) -> Maker:
    return Maker(node.graph, dtype, lambda suffix: node.fresh_name(f"{node.name}_{suffix}"))


def _log_sum(make: Maker, *values: Value) -> Value:
    """log(e^a + e^b + ...)."""
    largest = make(Max(), *values)
    total, *others = (make(Exp(), make(Sub(), value, largest)) for value in values)
    for other in others:
        total = make(Add(), total, other)
    return make(Add(), largest, make(Log(), total))


def _count_labels(make: Maker, labels: Value, padding: int, size: int) -> Value:
    """Return how many labels each row has before the first padding (N)."""
    is_padding = make(Equal(), labels, make.constant(padding, DType.INT64))
    indices = make(Where(), is_padding, make.vector(*range(size)), make.constant(size, DType.INT64))
    return make(ReduceMin(keepdims=False), indices, make.vector(1))


def import_ctc_loss(node: ImportNode) -> Value:
    """The negative logarithm of the probability of each row of labels (N), given activations (T, N, C); 0 where it is
    impossible. Forward probabilities of the labels with blanks around them, step by step."""
    attrs, data = node.attrs, node.input(0)
    further = [node.input(slot) for slot in range(2, len(node))]
    data_lengths = further.pop(0) if attrs["use_data_lengths"] else None
    stated = further.pop(0) if attrs["use_label_lengths"] else None
    if data.dtype is not DType.FLOAT32:
        node.refuse(f"{data.name} is {data.dtype}; MXNet computes this of float32 only")
    if node.rank(data) != 3 or node.rank(node.input(1)) != 2:
        node.refuse(f"data {data.type} and label {node.input(1).type}, expected 3 axes and 2")
    batch = node.shape(data)[1]
    node.shaped(1, (batch, UNKNOWN))
    for slot in range(2, len(node)):
        node.shaped(slot, (batch,))
    steps, classes = node.sizes(data, (0, 2))
    (size,) = node.sizes(1, (1,))
    if not 0 < size <= steps:
        node.refuse(f"{size} labels of {steps} steps; MXNet wants 1 label or more, and not more than steps")
    is_first = attrs["blank_label"] == "first"
    make = _maker(node, DType.FLOAT32)
    labels = make(Cast(DType.INT64), node.input(1))
    padding = 0 if is_first else -1
    lengths = _count_labels(make, labels, padding, size) if stated is None else make(Cast(DType.INT64), stated)
    blank = make.constant(0 if is_first else classes - 1, DType.INT64)
    between = make.constant([index % 2 == 1 for index in range(2 * size + 1)], DType.BOOL)
    spread = make(Gather(1), labels, make.vector(*(max(index - 1, 0) // 2 for index in range(2 * size + 1))))
    symbols = make(Where(), between, spread, blank)
    before = make(Pad(), symbols, make.vector(0, 2, 0, -2), make.constant(-9, DType.INT64))
    may_skip = make(And(), make(Not(), make(Equal(), symbols, before)), make(Not(), make(Equal(), symbols, blank)))
    least = make.number(IMPOSSIBLE)
    until = None if data_lengths is None else make(Unsqueeze(), make(Cast(DType.INT64), data_lengths), make.vector(1))

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Step:
        (chances,) = states
        scores = make(LogSoftmax(axis=-1), make(Gather(0), data, number))
        one = make(Pad(), chances, make.vector(0, 1, 0, -1), least)
        two = make(Where(), may_skip, make(Pad(), chances, make.vector(0, 2, 0, -2), least), least)
        result = make(Add(), _log_sum(make, chances, one, two), make(GatherElements(1), scores, symbols))
        return Step([result if until is None else make(Where(), make(Less(), number, until), result, chances)])

    start = make(Expand(), make.constant([0.0, *[IMPOSSIBLE] * (2 * size)], DType.FLOAT32), make(Shape(), symbols))
    (chances,) = make.loop(steps, [start], step)
    end = make(Unsqueeze(), make(Add(), lengths, lengths), make.vector(1))
    zero = make.constant(0, DType.INT64)
    final = make(GatherElements(1), chances, end)
    previous = make(GatherElements(1), chances, make(Max(), make(Sub(), end, make.vector(1)), zero))
    previous = make(Where(), make(Equal(), end, zero), least, previous)
    total = make(Squeeze(), _log_sum(make, final, previous), make.vector(1))
    possible = make(Less(), make.number(IMPOSSIBLE / 2), total)
    node.decide(DecisionKind.LOSS_HEAD_KEPT, "the loss is computed, with its labels as inputs")
    return node.emit(Where(), possible, make(Neg(), total), make.number(0.0))


IMPORTS: dict[str, ImportFunction] = {"CTCLoss": import_ctc_loss}

"""What could be given for the shape of an input, by what the model does with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from graphir.graph import Node, Value
from graphir.ops.indexing import Gather
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.passes.explicit_padding import kernel_of

V = TypeVar("V", bound=Hashable)
# What a reader of a value wants it to be, if it tells, and the values to look at if it does not.
Reader = tuple[Sequence[int] | None, Iterable[V]]
MOST_VALUES = 256
CHANNELS, LENGTH, WIDTH = 3, 32, 128
# The sizes of a picture with so many spatial axes.
SPATIAL = {1: (224,), 2: (224, 224), 3: (16, 112, 112)}


def example_sizes(start: V, readers: Callable[[V], Iterable[Reader[V]]]) -> str:
    """Return sizes with commas between, as the nearest reader that tells wants them; `1` where none does, as where all
    take any sizes."""
    pending, seen = [start], {start}
    for value in pending:
        for sizes, results in readers(value):
            if sizes is not None:
                return ",".join(map(str, sizes))
            new = [result for result in results if result not in seen]
            seen.update(new)
            pending += new[: MOST_VALUES - len(pending)]
    return "1"


def picture(axes: int, channels: object = None) -> tuple[int, ...] | None:
    """Return the shape of a picture with so many spatial axes."""
    count = channels if isinstance(channels, int) and channels > 0 else CHANNELS
    return (1, count, *SPATIAL[axes]) if axes in SPATIAL else None


def rows(width: object = None) -> tuple[int, ...]:
    """Return the shape of a row of numbers."""
    return 1, width if isinstance(width, int) and width > 0 else WIDTH


def example_shape(value: Value) -> str:
    """Return what could be given for an input of a graph, by its first readers that tell."""
    return example_sizes(value, _readers)


def _readers(value: Value) -> Iterator[Reader[Value]]:
    for node, slot in value.uses:
        yield _wanted_sizes(node, slot), node.outputs


def _wanted_sizes(node: Node, slot: int) -> Sequence[int] | None:
    weight = node.operand(1)
    shape = None if weight is None else weight.shape
    if slot == 1 and isinstance(node.op, Gather):
        return 1, LENGTH
    if slot:
        return None
    kernel = kernel_of(node) if hasattr(node.op, "kernel_shape") else None
    if kernel:
        return picture(len(kernel), shape[1] if shape is not None and len(shape) > 1 else None)
    if isinstance(node.op, Gemm | MatMul):
        by_row = isinstance(node.op, Gemm) and node.op.transB
        return rows(shape[1 if by_row else 0] if shape is not None and len(shape) == 2 else None)
    if isinstance(node.op, LSTM | GRU | RNN):
        width = shape[-1] if shape else None
        return (LENGTH, *rows(width))
    return None

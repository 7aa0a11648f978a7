"""Faults of weights: wrong elements, wrong order, wrong layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node

from .edit import Change, Edit, Fault, Sites, each, weights

LAYERS = "Conv ConvTranspose Gemm MatMul LSTM GRU RNN Gather"
BIASED = "Conv ConvTranspose Gemm"


def place(generator: Generator, size: int) -> int:
    return int(generator.integers(size))


def of_channel(change: Callable[[Array], Array]) -> Change:
    """A change of one channel (the first axis; the last of a matrix that is applied from the right)."""

    def apply(array: Array, generator: Generator) -> Array | None:
        if array.dtype.kind != "f" or array.ndim < 2:
            return None
        made = array.copy()
        index = place(generator, made.shape[0])
        made[index] = change(made[index])
        return made

    return apply


def swapped_channels(array: Array, generator: Generator) -> Array | None:
    if array.dtype.kind != "f" or array.ndim < 2 or array.shape[0] < 2:
        return None
    order = np.arange(array.shape[0])
    first, second = generator.choice(array.shape[0], 2, replace=False)
    order[[first, second]] = order[[second, first]]
    return array[order]


def transposed(array: Array, generator: Generator) -> Array | None:
    """A square matrix transposed."""
    return array.T if array.ndim == 2 and array.shape[0] == array.shape[1] > 1 and array.dtype.kind == "f" else None


def one_element(array: Array, generator: Generator) -> Array | None:
    """One element that is not small changed by half of the largest magnitude."""
    if array.dtype.kind != "f" or array.ndim < 2:
        return None
    made = array.copy().reshape(-1)
    made[place(generator, made.size)] += np.abs(made).max() / 2
    return made.reshape(array.shape)


def to_half(array: Array, generator: Generator) -> Array | None:
    """Rounded to bfloat16, by the bits of float32."""
    if array.dtype != np.float32 or array.ndim < 2:
        return None
    whole = np.ascontiguousarray(array).view(np.uint32)
    return ((whole + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)


def to_float16(array: Array, generator: Generator) -> Array | None:
    return array.astype(np.float16).astype(np.float32) if array.dtype == np.float32 and array.ndim > 1 else None


def no_bias(model: Model, node: Node, generator: Generator) -> None:
    del node.input[2]


def halves(array: Array, generator: Generator) -> Array | None:
    """The two halves of the first axis exchanged, as two packings of the same weights differ."""
    if array.dtype.kind != "f" or array.ndim < 2 or array.shape[0] % 2 or array.shape[0] < 4:
        return None
    return np.roll(array, array.shape[0] // 2, axis=0)


def layers_swapped(slot: int) -> Sites:
    """The weights of two layers of one shape exchanged."""

    def sites(model: Model) -> Iterator[Edit]:
        by_shape: dict[tuple[str, tuple[int, ...]], list[Node]] = {}
        for node in model.nodes(*LAYERS.split()):
            held = model.operand(node, slot)
            if held is not None and held.dtype.kind == "f" and held.ndim:
                by_shape.setdefault((node.op_type, held.shape), []).append(node)
        for found in by_shape.values():
            for first, second in pairwise(found):
                if first.input[slot] != second.input[slot]:
                    yield Edit((first.name, second.name), _swap(first.name, second.name, slot))

    return sites


def _swap(first: str, second: str, slot: int) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        left, right = model.node(first), model.node(second)
        left.input[slot], right.input[slot] = right.input[slot], left.input[slot]

    return apply


def shared_changed(model: Model) -> Iterator[Edit]:
    """Of a weight that two nodes share, one gets a copy with a changed row."""
    for name, held in model.weights().items():
        users = model.users(name)
        if len(users) > 1 and held.ndim and held.dtype.kind == "f":
            for node, slot in users:
                yield Edit((node.name,), _row_of_copy(node.name, slot))


def _row_of_copy(name: str, slot: int) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        node = model.node(name)
        held = model.operand(node, slot)
        assert held is not None
        held[place(generator, held.shape[0])] *= 0.5
        model.give(node, slot, held)

    return apply


def table_row(array: Array, generator: Generator) -> Array | None:
    """All rows of a table one further: indices that count from one."""
    return np.roll(array, 1, axis=0) if array.ndim == 2 and array.dtype.kind == "f" else None


def last_row(array: Array, generator: Generator) -> Array | None:
    """The last row of a table is zero, as that of a padding word."""
    if array.ndim != 2 or array.dtype.kind != "f":
        return None
    made = array.copy()
    made[-1] = 0
    return made


def scalar(factor: float) -> Change:
    """A constant that is one number, times a factor."""

    def apply(array: Array, generator: Generator) -> Array | None:
        is_number = array.dtype.kind == "f" and array.size == 1 and 0 < abs(float(array.reshape(-1)[0])) < 1e4
        return array * array.dtype.type(factor) if is_number else None

    return apply


def has_bias(model: Model, node: Node) -> bool:
    return len(node.input) > 2 and bool(node.input[2])


def bias_rolled(array: Array, generator: Generator) -> Array | None:
    return np.roll(array, 1) if array.ndim == 1 and array.size > 1 and array.dtype.kind == "f" else None


FAULTS = (
    Fault("a channel zeroed", weights(LAYERS, 1, of_channel(lambda row: row * 0))),
    Fault("a channel scaled by 1.01", weights(LAYERS, 1, of_channel(lambda row: row * row.dtype.type(1.01)))),
    Fault("a channel of the other sign", weights(LAYERS, 1, of_channel(lambda row: -row))),
    Fault(
        "a row of weights in reverse",
        weights(LAYERS, 1, of_channel(lambda row: row.reshape(-1)[::-1].reshape(row.shape))),
    ),
    Fault("two channels exchanged", weights(LAYERS, 1, swapped_channels)),
    Fault("halves of the channels exchanged", weights(LAYERS, 1, halves)),
    Fault("square weights transposed", weights("Gemm MatMul", 1, transposed)),
    Fault("one weight changed", weights(LAYERS, 1, one_element)),
    Fault("weights rounded to float16", weights(LAYERS, 1, to_float16)),
    Fault("weights rounded to bfloat16", weights(LAYERS, 1, to_half)),
    Fault("bias dropped", each(BIASED, no_bias, has_bias)),
    Fault(
        "bias turned by one",
        weights(f"{BIASED} BatchNormalization LayerNormalization InstanceNormalization", 2, bias_rolled),
    ),
    Fault("bias of an Add turned by one", weights("Add", 1, bias_rolled)),
    Fault("weights of two layers exchanged", layers_swapped(1)),
    Fault("biases of two layers exchanged", layers_swapped(2)),
    Fault("a shared weight no longer shared", shared_changed),
    Fault("rows of a table one further", weights("Gather", 0, table_row)),
    Fault("last row of a table zero", weights("Gather", 0, last_row)),
    Fault("a constant folded wrong", weights("Mul Add Div", 1, scalar(1.05))),
    Fault(
        "a scale forgotten",
        weights("Mul", 1, lambda array, generator: None if scalar(1.0)(array, generator) is None else array * 0 + 1),
    ),
)

__all__ = ["FAULTS"]

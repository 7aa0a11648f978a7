"""The one vector that holds all parameters of MXNet's RNN (see `recurrent_weights` for its layout)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.exporting.context import AnyNode, Entry
from graphir.converters.mxnet.importing.recurrent_weights import GATE_ORDER
from graphir.graph import Node, Value
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Concat, Slice
from graphir.tensor import Tensor

MOST_NUMBERED = 1 << 25
"""Of so many parameters without elements (128 MB of numbers) the order is found out."""


def parameter_vector(node: AnyNode, layers: Sequence[Node], mode: str, way: int | None = None) -> Entry:
    """Return the parameters of all layers (of one direction, if `way` says which): one parameter, or several joined.

    It keeps the name of the vector that it was cut from, and gluon's parameters keep theirs.
    """
    order = GATE_ORDER[mode]
    blocks = [_LayerParameters(node, layer, order, way) for layer in layers]
    if all(block.is_constant for block in blocks):
        pieces = [piece for block in blocks for piece in block.pieces()] + [
            piece for block in blocks for piece in block.biases()
        ]
        return _named_pieces(node, blocks, pieces) or _vector(node, blocks, pieces)
    whole = _uncut(blocks)
    if whole is not None:
        return _joined(node, whole)
    flat = [entry for block in blocks for entry in block.weight_entries()]
    flat += [entry for block in blocks for entry in block.bias_entries()]
    return node.step("_rnn_param_concat", *flat, suffix="parameters", dim=0, num_args=len(flat))


def _uncut(blocks: Sequence[_LayerParameters]) -> list[Value] | None:
    """Return the values that the parameters were cut from, in the order of MXNet's vector; None if they were not all of
    it.

    Numbers that stand for the elements take the way that the elements took, and must be in order again.
    """
    numbers: dict[Value, Array] = {}
    weights, biases = [], []
    for block in blocks:
        arrays = [_numbered(value, numbers) for value in block.values]
        if len(arrays) < 3 or any(array is None for array in arrays):
            return None
        weight, recurrent, bias = (np.asarray(array) for array in arrays)
        weights += [block.ordered(array[way]) for way in block.ways for array in (weight, recurrent)]
        biases += [block.ordered(half) for way in block.ways for half in np.split(bias[way], 2)]
    vector = np.concatenate([array.reshape(-1) for array in (*weights, *biases)])
    starts = {int(stored.reshape(-1)[0]): value for value, stored in numbers.items()}
    result: list[Value] = []
    position = 0
    while position < vector.size:
        value = starts.get(int(vector[position]))
        if value is None:
            return None
        stored = numbers[value].reshape(-1)
        if not np.array_equal(vector[position : position + stored.size], stored):
            return None
        result.append(value)
        position += stored.size
    return result


def _numbered(value: Value, numbers: dict[Value, Array]) -> Array | None:
    """Numbers in the place of the value's elements; those of values that nothing computes go on from value to value."""
    shape, node = value.shape, value.producer
    if shape is None or not shape or not all(isinstance(size, int) for size in shape):
        return None
    if node is None:
        if value not in numbers:
            first, count = sum(stored.size for stored in numbers.values()), math.prod(shape)
            if first + count > MOST_NUMBERED:
                return None
            numbers[value] = np.arange(first, first + count, dtype=np.int32).reshape(shape)
        return numbers[value]
    operands = [operand for operand in node.inputs if operand is not None]
    if isinstance(node.op, Concat):
        parts = [_numbered(operand, numbers) for operand in operands]
        known = [part for part in parts if part is not None]
        return np.concatenate(known, node.op.axis) if len(known) == len(parts) else None
    if not isinstance(node.op, Slice | Gather | Reshape):
        return None
    data = _numbered(operands[0], numbers)
    given = [operand.integers for operand in operands[1:]]
    if data is None or None in given:
        return None
    if isinstance(node.op, Reshape):
        return data.reshape(shape)
    indices = [list(entry) for entry in given if entry is not None]
    if isinstance(node.op, Gather):
        return np.take(data, np.reshape(indices[0], operands[1].shape), node.op.axis)  # type: ignore[arg-type]
    axes = indices[2] if len(indices) > 2 else list(range(len(indices[0])))
    steps = indices[3] if len(indices) > 3 else [1] * len(axes)
    cuts = [slice(None)] * data.ndim
    for start, stop, axis, step in zip(indices[0], indices[1], axes, steps, strict=True):
        cuts[axis] = slice(start, stop, step)
    result: Array = data[tuple(cuts)]
    return result if result.shape == shape else None


def _joined(node: AnyNode, values: Sequence[Value]) -> Entry:
    """Values as one vector."""
    if len(values) == 1 and values[0].rank == 1:
        return node.export.entry(values[0])
    flat = [node.step("Reshape", node.export.entry(value), suffix="flat", shape=(-1,)) for value in values]
    return node.step("_rnn_param_concat", *flat, suffix="parameters", dim=0, num_args=len(flat))


class _Piece:
    """One weight or bias in MXNet's order of gates: the name of its source, shape and elements."""

    def __init__(self, source: str | None, shape: tuple[int, ...], compute: Callable[[], Array]) -> None:
        self.source = source
        self.shape = shape
        self.compute = compute


class _LayerParameters:
    """The parameters of one layer."""

    def __init__(self, node: AnyNode, layer: Node, order: tuple[int, ...], way: int | None) -> None:
        self.node = node
        weight, recurrent = layer.inputs[1], layer.inputs[2]
        assert weight is not None
        assert recurrent is not None
        self.weight, self.recurrent = weight, recurrent
        self.bias = layer.operand(3)
        self.gates = len(order)
        self.places = [order.index(gate) for gate in range(len(order))]
        sizes = node.fixed(recurrent.shape, recurrent.name)
        self.ways = range(sizes[0]) if way is None else range(way, way + 1)
        self.all_ways = sizes[0]
        self.rows, self.hidden = sizes[1], sizes[2]

    @property
    def values(self) -> tuple[Value, ...]:
        """The operands with parameters."""
        return (self.weight, self.recurrent, *([] if self.bias is None else [self.bias]))

    @property
    def is_constant(self) -> bool:
        """Whether all parameters are there."""
        return all(value.tensor is not None for value in self.values)

    def ordered(self, array: Array) -> Array:
        """Return one direction's weight or bias with MXNet's order of gates."""
        parts = np.split(array, self.gates)
        return np.concatenate([parts[index] for index in self.places])

    def _source(self, value: Value, place: int, count: int) -> str | None:
        return value.sources[place] if len(value.sources) == count else None

    def pieces(self) -> list[_Piece]:
        """Return the weights of the input and of the state, direction by direction."""
        result = []
        for way in self.ways:
            for value in (self.weight, self.recurrent):
                tensor = value.tensor
                assert tensor is not None

                def compute(tensor: Tensor = tensor, way: int = way) -> Array:
                    return self.ordered(tensor.numpy()[way])

                result.append(_Piece(self._source(value, way, self.all_ways), tensor.shape[1:], compute))
        return result

    def biases(self) -> list[_Piece]:
        """Return the biases of the input and of the state, direction by direction."""
        result = []
        for way in self.ways:
            for side in range(2):
                tensor = None if self.bias is None else self.bias.tensor
                dtype = self.weight.tensor.dtype.numpy() if self.weight.tensor is not None else np.dtype(np.float32)

                def compute(
                    tensor: Tensor | None = tensor, way: int = way, side: int = side, dtype: Any = dtype
                ) -> Array:
                    if tensor is None:
                        return np.zeros(self.rows, dtype)
                    return self.ordered(tensor.numpy()[way, side * self.rows : (side + 1) * self.rows])

                source = None if self.bias is None else self._source(self.bias, way * 2 + side, self.all_ways * 2)
                result.append(_Piece(source, (self.rows,), compute))
        return result

    def weight_entries(self) -> list[Entry]:
        """Return the flat weights as entries."""
        result = []
        for way in self.ways:
            for value in (self.weight, self.recurrent):
                columns = self.node.fixed(value.shape, value.name)[2]
                result.append(self._ordered(self.node.export.entry(value), way, (self.rows, columns)))
        return result

    def bias_entries(self) -> list[Entry]:
        """Return the flat biases as entries."""
        node = self.node
        result = []
        for way in self.ways:
            for side in range(2):
                if self.bias is None:
                    dtype = node.dtype().value
                    result.append(node.step("_zeros", suffix="no_bias", shape=(self.rows,), dtype=dtype))
                    continue
                half = {"axis": 1, "begin": side * self.rows, "end": (side + 1) * self.rows}
                part = node.step("slice_axis", node.export.entry(self.bias), suffix="bias", **half)
                result.append(self._ordered(part, way, (self.rows,)))
        return result

    def _ordered(self, entry: Entry, way: int, shape: tuple[int, ...]) -> Entry:
        """Return one direction's part, its gates in order, of this shape and then flat."""
        node = self.node
        if self.all_ways > 1:
            entry = node.step("slice_axis", entry, suffix="direction", axis=0, begin=way, end=way + 1)
        if self.gates > 1:
            entry = node.step("Reshape", entry, suffix="gates", shape=(self.gates, -1))
            indices = node.constant(self.places, suffix="gates")
            entry = node.step("take", entry, indices, suffix="gates", axis=0)
        entry = node.step("Reshape", entry, suffix="part", shape=shape)
        return node.step("Reshape", entry, suffix="flat", shape=(-1,))


def _named_pieces(node: AnyNode, blocks: Sequence[_LayerParameters], pieces: Sequence[_Piece]) -> Entry | None:
    """Parameters with the names that they had, joined; None if they were one vector or came from elsewhere."""
    names = [piece.source for piece in pieces]
    if None in names or len(set(names)) != len(names):
        return None
    dtype = blocks[0].weight.dtype
    assert dtype is not None
    flat = []
    for piece in pieces:
        assert piece.source is not None
        entry = node.export.variable(
            node.export.fresh_variable(piece.source), Tensor.computed(dtype, piece.shape, piece.compute), {}
        )
        flat.append(node.step("Reshape", entry, suffix="flat", shape=(-1,)))
    return node.step("_rnn_param_concat", *flat, suffix="parameters", dim=0, num_args=len(flat))


def _vector(node: AnyNode, blocks: Sequence[_LayerParameters], pieces: Sequence[_Piece]) -> Entry:
    """Return one parameter with all elements."""
    sources = {source for block in blocks for value in block.values for source in value.sources}
    name = sources.pop() if len(sources) == 1 else f"{node.stem}_parameters"
    dtype = blocks[0].weight.dtype
    assert dtype is not None
    count = sum(int(np.prod(piece.shape)) for piece in pieces)

    def compute() -> Array:
        return np.concatenate([np.asarray(piece.compute()).reshape(-1) for piece in pieces])

    return node.export.variable(node.export.fresh_variable(name), Tensor.computed(dtype, (count,), compute), {})

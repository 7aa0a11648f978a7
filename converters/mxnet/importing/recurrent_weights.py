"""The parameters of MXNet's fused RNN, cut out of the one vector that holds them, without reading it.

The vector holds, layer by layer and direction by direction, the input and the recurrent weights (and an LSTM's
projection), and after all weights in the same order the input and the recurrent biases. Gate orders: LSTM input,
forget, cell, output here and input, output, forget, cell in ONNX; GRU reset, update, new here and update, reset, new
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.errors import FormatError
from graphir.graph import Value
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Concat, Slice
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, TensorType

GATE_ORDER = {"rnn_relu": (0,), "rnn_tanh": (0,), "lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}


@dataclass(frozen=True)
class Sizes:
    """What fixes the layout: the gates in ONNX's order, layers, directions, the widths of the input (None: unknown) and
    of the state, and of the state's projection (0: none)."""

    order: tuple[int, ...]
    layers: int
    directions: int
    width: int | None
    hidden: int
    projected: int = 0

    @property
    def rows(self) -> int:
        """Rows of one weight, entries of one bias."""
        return len(self.order) * self.hidden

    @property
    def state(self) -> int:
        """The width of what a direction puts out."""
        return self.projected or self.hidden

    @property
    def kinds(self) -> str:
        """What a layer has of each: weights of the input (W) and of the state (R), perhaps a projection (P)."""
        return "WRP" if self.projected else "WR"

    def features(self, layer: int) -> int | None:
        """Return the width of a layer's input."""
        return self.width if layer == 0 else self.directions * self.state

    def count_without_width(self) -> int:
        """Return the number of parameters that does not depend on the input's width."""
        later = (self.layers - 1) * self.directions * self.state * self.rows
        each = self.rows * (self.state + 2) + self.projected * self.hidden
        return self.directions * (later + self.layers * each)


@dataclass(frozen=True)
class WeightPart:
    """One weight or bias: a value of its own, or the elements from `start` on of the vector of all parameters.

    `columns` is 0 for a bias and None where the input's width is not known.
    """

    value: Value
    start: int | None
    rows: int
    columns: int | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, of a block whose columns are known."""
        return (self.rows, self.columns) if self.columns else (self.rows,)

    @property
    def stop(self) -> int:
        """The end of a block that is a part of the vector."""
        assert self.start is not None
        return self.start + self.rows * (self.columns or 1)

    def tensor(self) -> Tensor | None:
        """Return the elements, unread, if they are there."""
        whole = self.value.tensor
        if whole is None or self.columns is None:
            return None
        return (whole if self.start is None else whole.rows(self.start, self.stop)).reshaped(self.shape)


class RecurrentWeights:
    """All parameters of one RNN node."""

    def __init__(self, node: ImportNode, sizes: Sizes, data: Value) -> None:
        self.node = node
        parameters = node.input(1)
        pieces = _pieces(parameters)
        cells = [(layer, way) for layer in range(sizes.layers) for way in range(sizes.directions)]
        slots = [(layer, way, kind) for layer, way in cells for kind in sizes.kinds]
        slots += [(layer, way, kind) for layer, way in cells for kind in ("Wb", "Rb")]
        if len(pieces) != len(slots):
            pieces = []
            sizes = _with_width(node, sizes, data, parameters)
        self.sizes = sizes
        self.blocks: dict[tuple[int, int, str], WeightPart] = {}
        position = 0
        for index, slot in enumerate(slots):
            layer, _, kind = slot
            rows = sizes.projected if kind == "P" else sizes.rows
            columns = {"W": sizes.features(layer), "R": sizes.state, "P": sizes.hidden}.get(kind, 0)
            if pieces:
                self.blocks[slot] = _separate(node, pieces[index], rows, columns)
                continue
            self.blocks[slot] = WeightPart(parameters, position, rows, columns)
            position = self.blocks[slot].stop

    def layer(self, layer: int) -> tuple[Value, Value, Value]:
        """W (D, G*H, I), R (D, G*H, H) and B (D, 2*G*H), gates in ONNX's order."""
        weight = self._stack([[way["W"]] for way in self._ways(layer)], f"l{layer}_W")
        bias = self._stack([[way["Wb"], way["Rb"]] for way in self._ways(layer)], f"l{layer}_B")
        if self.sizes.projected:
            hidden, order = self.sizes.hidden, self.sizes.order
            recurrent = self._product(
                layer,
                "R",
                (self.sizes.rows, hidden),
                lambda state, projection: np.concatenate(_gates(state, order)) @ projection,
            )
        else:
            recurrent = self._stack([[way["R"]] for way in self._ways(layer)], f"l{layer}_R")
        return weight, recurrent, bias

    def projection(self, layer: int) -> Value:
        """Return the projection (D, H, P), to be multiplied from the right."""
        return self._product(layer, "P", (self.sizes.hidden, self.sizes.projected), lambda _, projection: projection.T)

    def unprojection(self, layer: int) -> Value:
        """(D, P, H): what gives a state of which the projection is the given one. Its rows must be independent."""
        name = self.node.name

        def solve(_: NDArray[Any], projection: NDArray[Any]) -> NDArray[Any]:
            if np.linalg.matrix_rank(projection) < projection.shape[0]:
                raise FormatError(
                    f"{name}: the projection of layer {layer} has dependent rows, so that its begin state cannot be "
                    "expressed; feed zeros as the begin state (leave it out)"
                )
            return np.linalg.pinv(projection).T

        return self._product(layer, "unprojection", (self.sizes.projected, self.sizes.hidden), solve)

    def _ways(self, layer: int) -> list[dict[str, WeightPart]]:
        kinds = (*self.sizes.kinds, "Wb", "Rb")
        return [{kind: self.blocks[layer, way, kind] for kind in kinds} for way in range(self.sizes.directions)]

    def _product(
        self,
        layer: int,
        suffix: str,
        shape: tuple[int, int],
        combine: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
    ) -> Value:
        """(D, *shape): what `combine` makes, in float64, of each direction's recurrent weight and projection."""
        ways = [(way["R"], way["P"]) for way in self._ways(layer)]
        tensors = [(state.tensor(), projection.tensor()) for state, projection in ways]
        known = [(state, projection) for state, projection in tensors if state is not None and projection is not None]
        if len(known) < len(ways):
            self.node.refuse("projection_size needs the parameters' elements: give the weights (-p model-0000.params)")
        dtype = known[0][0].dtype

        def compute() -> NDArray[Any]:
            parts = [
                combine(state.numpy().astype(np.float64), projection.numpy().astype(np.float64))
                for state, projection in known
            ]
            product: NDArray[Any] = np.stack(parts).astype(dtype.numpy())
            return product

        tensor = Tensor.computed(dtype, (len(ways), *shape), compute)
        return self._parameter(tensor, f"l{layer}_{suffix}", [block for way in ways for block in way])

    def _stack(self, ways: list[list[WeightPart]], suffix: str) -> Value:
        blocks = [block for way in ways for block in way]
        tensors = [tensor for tensor in (block.tensor() for block in blocks) if tensor is not None]
        if len(tensors) < len(blocks):
            return self._stack_nodes(ways, suffix)
        order = self.sizes.order
        first = tensors[0]
        shape = (len(ways), sum(block.rows for block in ways[0]), *first.shape[1:])
        if len(tensors) == 1 and len(order) == 1:
            return self._parameter(first.reshaped(shape), suffix, blocks)

        def compute() -> NDArray[Any]:
            gates = [gate for tensor in tensors for gate in _gates(tensor.numpy(), order)]
            return np.asarray(np.concatenate(gates).reshape(shape))

        return self._parameter(Tensor.computed(first.dtype, shape, compute), suffix, blocks)

    def _parameter(self, tensor: Tensor, suffix: str, blocks: Sequence[WeightPart]) -> Value:
        graph = self.node.graph
        value = graph.add_parameter(graph.fresh_name(f"{self.node.name}_{suffix}"), tensor)
        value.sources = tuple(dict.fromkeys(block.value.name for block in blocks))
        return value

    def _stack_nodes(self, ways: list[list[WeightPart]], suffix: str) -> Value:
        """Return the same from parameters whose elements are not there, as operators on them."""
        node = self.node
        flat = [self._ordered(block, suffix) for way in ways for block in way]
        joined = flat[0] if len(flat) == 1 else node.step(Concat(0), *flat, suffix=f"{suffix}_joined")
        rows, columns = ways[0][0].rows, ways[0][0].columns
        shape = [len(ways), -1] if columns == 0 else [len(ways), rows, -1 if columns is None else columns]
        return node.step(Reshape(), joined, node.vector(shape), suffix=suffix)

    def _ordered(self, block: WeightPart, suffix: str) -> Value:
        node, value, order = self.node, block.value, self.sizes.order
        if block.start is not None:
            starts, stops, axes = node.vector([block.start]), node.vector([block.stop]), node.vector([0])
            value = node.step(Slice(), value, starts, stops, axes, suffix=f"{suffix}_part")
        if len(order) > 1:
            gates = node.step(Reshape(), value, node.vector([len(order), -1]), suffix=f"{suffix}_gates")
            value = node.step(Gather(0), gates, node.vector(order), suffix=f"{suffix}_ordered")
        return node.step(Reshape(), value, node.vector([-1]), suffix=f"{suffix}_flat")


def _separate(node: ImportNode, value: Value, rows: int, columns: int | None) -> WeightPart:
    """Return the block that is a value of its own; its number of columns may come from it."""
    wanted = (rows,) if columns == 0 else (rows, UNKNOWN if columns is None else columns)
    node.graph.refine(value, TensorType(None, wanted))
    shape = value.shape
    assert shape is not None
    if columns is None and isinstance(shape[1], int):
        columns = shape[1]
    return WeightPart(value, None, rows, columns)


def _pieces(parameters: Value) -> list[Value]:
    """Return the values that `_rnn_param_concat` of flattened values joined; none if the vector is one as it stands."""
    producer = parameters.producer
    if producer is None or not isinstance(producer.op, Concat):
        return []
    result = []
    for flat in producer.inputs:
        before = None if flat is None else flat.producer
        flattened = before is not None and isinstance(before.op, Reshape)
        piece = before.inputs[0] if flattened and before is not None else flat
        if piece is None:
            return []
        result.append(piece)
    return result


def _with_width(node: ImportNode, sizes: Sizes, data: Value, parameters: Value) -> Sizes:
    """Return the sizes with the input's width, which the number of parameters fixes or else the data."""
    fixed, per_column = sizes.count_without_width(), sizes.directions * sizes.rows
    total = parameters.shape[0] if parameters.shape is not None and len(parameters.shape) == 1 else None
    if not isinstance(total, int):
        width = node.sizes(data, [2])[0]
        node.shaped(1, (fixed + width * per_column,))
        return replace(sizes, width=width)
    width, rest = divmod(total - fixed, per_column)
    if rest or width < 1:
        node.refuse(
            f"{parameters.name} has {total} elements; {sizes.layers} layer(s) with a state of {sizes.hidden} take "
            f"{fixed} and {per_column} more for each feature of the data"
        )
    node.graph.refine(data, TensorType(None, (UNKNOWN, UNKNOWN, width)))
    return replace(sizes, width=width)


def _gates(array: NDArray[Any], order: tuple[int, ...]) -> list[NDArray[Any]]:
    parts = np.split(array, len(order))
    return [parts[gate] for gate in order]

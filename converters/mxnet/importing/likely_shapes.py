"""Shapes of inputs that nobody gave, from the stored weight of the first layer that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.input_shapes import AXIS_NAMES
from graphir.converters.mxnet.importing.layout import is_channels_first
from graphir.converters.mxnet.schema.operators import is_readable, typed_attributes
from graphir.structure.record import record
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, Shape, symbol

# Operators whose result has the shape of their first operand.
SAME_SHAPE = frozenset(
    (
        *("Activation", "BatchNorm", "BatchNorm_v1", "BlockGrad", "Cast", "Dropout", "LRN", "LeakyReLU", "_copy"),
        *("_div_scalar", "_minus_scalar", "_mul_scalar", "_plus_scalar", "_rdiv_scalar", "_rminus_scalar", "amp_cast"),
        *("_image_normalize", "abs", "clip", "exp", "log", "relu", "sigmoid", "sqrt", "square", "tanh"),
    )
)
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
Rule = Callable[[Any, tuple[int, ...]], Shape | None]


@record
class Likely:
    """A shape, and the layer whose weight says it; `certain` if that leaves no doubt about the rank."""

    shape: Shape
    layer: str
    certain: bool

    @property
    def why(self) -> str:
        """What a decision says of it."""
        return "" if self.certain else f"that it has {len(self.shape)} axes is taken from the weight of {self.layer}"


def likely_shape(source: NNVMGraph, record: NNVMNode, params: Mapping[str, Tensor] | None) -> Likely | None:
    """Return what the first layer with a stored weight says of the variable that it reads: its rank, and its channels.

    Operators that keep the shape may stand between them, and Concat, behind which only the rank is known. The open
    sizes are called N, H, W and so on, if the symbol has one input only. None where nothing says it, or where several
    readers say different things.
    """
    result: Shape | None = None
    layer, certain = "", False
    for node, whole in _readers(source, record):
        shape = _from_weight(source, node, params or {})
        if shape is None:
            continue
        if not whole:
            shape = (UNKNOWN,) * len(shape)
        if result is not None and (len(result) != len(shape) or _differ(result, shape)):
            return None
        if result is None:
            result, layer = shape, node.name
        certain = certain or node.op in ("Convolution", "Deconvolution")
    return None if result is None else Likely(_named(source, result, params or {}), layer, certain)


def _readers(source: NNVMGraph, record: NNVMNode) -> Iterator[tuple[NNVMNode, bool]]:
    """Yield the nodes whose first operand has the variable's shape, and with False those where it is a part of
    theirs."""
    alike = {index: True for index, node in enumerate(source.nodes) if node is record}
    for index, node in enumerate(source.nodes):
        if node.op == "Concat" and any((producer, 0) in node.inputs for producer in alike):
            alike[index] = False
        elif node.inputs and node.inputs[0][1] == 0 and node.inputs[0][0] in alike:
            whole = alike[node.inputs[0][0]]
            yield node, whole
            if node.op in SAME_SHAPE:
                alike[index] = whole


def _differ(one: Shape, other: Shape) -> bool:
    return any(
        isinstance(left, int) and isinstance(right, int) and left != right
        for left, right in zip(one, other, strict=True)
    )


def _from_weight(source: NNVMGraph, node: NNVMNode, params: Mapping[str, Tensor]) -> Shape | None:
    rule = _RULES.get(node.op)
    if rule is None or len(node.inputs) < 2:
        return None
    weight = params.get(source.nodes[node.inputs[1][0]].name)
    return None if weight is None or not is_readable(node) else rule(typed_attributes(node), weight.shape)


def _of_convolution(attrs: Any, weight: tuple[int, ...]) -> Shape | None:
    """Weights are (O, I / groups, D...), or channels last (O, D..., I / groups)."""
    rank = len(weight)
    if rank not in AXIS_NAMES or rank < 3:
        return None
    first = attrs["layout"] is None or is_channels_first(attrs["layout"])
    channels = weight[1 if first else -1] * attrs["num_group"]
    spatial = (UNKNOWN,) * (rank - 2)
    return (UNKNOWN, channels, *spatial) if first else (UNKNOWN, *spatial, channels)


def _of_deconvolution(attrs: Any, weight: tuple[int, ...]) -> Shape | None:
    """Weights are (I, O / groups, D...)."""
    rank = len(weight)
    if rank not in AXIS_NAMES or rank < 3 or not (attrs["layout"] is None or is_channels_first(attrs["layout"])):
        return None
    return UNKNOWN, weight[0], *(UNKNOWN,) * (rank - 2)


def _of_recurrence(attrs: Any, weight: tuple[int, ...]) -> Shape | None:
    """Data (T, N, I): all weights in one vector, from whose length I follows."""
    if attrs["projection_size"] or len(weight) != 1 or attrs["mode"] not in GATES:
        return UNKNOWN, UNKNOWN, UNKNOWN
    hidden, ways, layers = attrs["state_size"], 2 if attrs["bidirectional"] else 1, attrs["num_layers"]
    rows = ways * GATES[attrs["mode"]] * hidden
    total = prod(weight)
    later = (layers - 1) * rows * (hidden * ways + hidden + 2)
    size, rest = divmod(total - later, rows)
    columns = size - hidden - 2
    return UNKNOWN, UNKNOWN, columns if rest == 0 and columns > 0 else UNKNOWN


_RULES: Mapping[str, Rule] = {
    "Convolution": _of_convolution,
    "Deconvolution": _of_deconvolution,
    "Embedding": lambda attrs, weight: (UNKNOWN, UNKNOWN),
    # (O, I); data of more axes would be flattened into as many columns. Without that any number of axes will do.
    "FullyConnected": lambda attrs, weight: (UNKNOWN, weight[1]) if len(weight) == 2 and attrs["flatten"] else None,
    "RNN": _of_recurrence,
    # (I, O), or transposed (O, I)
    "dot": lambda attrs, weight: (UNKNOWN, weight[1 if attrs["transpose_b"] else 0])
    if len(weight) == 2 and not attrs["transpose_a"]
    else None,
}


def _named(source: NNVMGraph, shape: Shape, params: Mapping[str, Tensor]) -> Shape:
    """Return the shape with letters for open sizes where one input alone has them, channels standing second."""
    inputs = [node for node in source.nodes if node.op == VARIABLE and node.name not in params]
    alone = len([node for node in inputs if not node.name.endswith("label")]) == 1
    names = AXIS_NAMES.get(len(shape), "")
    if not alone or not names or not isinstance(shape[1], int):
        return shape
    return tuple(symbol(name) if dim is UNKNOWN else dim for name, dim in zip(names, shape, strict=True))

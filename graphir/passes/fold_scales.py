"""What scales and shifts the channels behind a convolution or product goes into its weights and bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from graphir.decisions import DecisionKind
from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.elementwise import Add, Div, Mul, Sub
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.normalization import BatchNormalization
from graphir.ops.shape import Transpose
from graphir.tensor import Tensor

from .outcome import Outcome

KIND = DecisionKind.FOLDED_SCALE
SHIFTS = (Add, Sub)
AFFINE = (Mul, Div, *SHIFTS, BatchNormalization)


def fold_scales(graph: Graph, *, shifts_only: bool = False) -> Outcome:
    """Multiply constants that scale the channels of a convolution or matrix product into its weights, and add those
    that shift them to its bias.

    Batch normalization is both. Done where nothing else reads what lies between, which may be a Transpose too, and
    nothing else uses the weights, which are computed when they are first read. Rounding differs: one decision says in
    how many layers. With `shifts_only` what scales stays, as training needs it. Linear in nodes.
    """
    outcome = Outcome()
    for node in list(graph.nodes):
        target = node
        while isinstance(target.op, Conv | ConvTranspose | Gemm | MatMul):
            folded = _fold_next(graph, target, SHIFTS if shifts_only else AFFINE)
            if folded is None:
                break
            target = folded
        if target is not node:
            outcome.note(target.name, "the scale and shift behind it went into its weights and bias")
    if outcome and not shifts_only:
        count = len(outcome.changes)
        layers = "1 layer" if count == 1 else f"{count} layers"
        text = f"scale and shift behind {layers} were multiplied into their weights and bias, which rounds otherwise"
        graph.decide(KIND, outcome.changes[0].node, text)
    return outcome


def _fold_next(graph: Graph, node: Node, kinds: tuple[type[Operator], ...]) -> Node | None:
    """Return the node with what follows it folded in, None if that is not of these kinds, or cannot be."""
    value, rank = node.outputs[0], node.outputs[0].rank
    use, channels = _only_use(graph, value), _channels(node)
    if use is None or rank is None or channels is None:
        return None
    axis, turned = _channel_axis(node, rank), use[0]
    if isinstance(turned.op, Transpose) and len(turned.op.perm) == rank:
        axis, use = turned.op.perm.index(axis), _only_use(graph, turned.outputs[0])
    if use is None or not isinstance(use[0].op, kinds):
        return None
    user, slot = use
    affine = _affine(user, slot, _Channels(channels, axis, rank))
    operands = None if affine is None else _operands(graph, node, *affine)
    if operands is None:
        return None
    op = node.op
    if isinstance(op, MatMul):
        op = Gemm()
    elif isinstance(op, Gemm):
        op = replace(op, beta=1.0)
    replacement = graph.add_node(op, operands, name=node.name, before=user)
    result, last = replacement.outputs[0], user.outputs[0]
    name, sources = last.name, last.sources  # what lay between is computed nowhere now
    result.sources = sources
    if turned is not user:
        result = graph.add_node(turned.op, (result,), name=turned.name, before=user).outputs[0]
    graph.replace_uses(last, result)
    for gone in dict.fromkeys((user, turned, node)):
        graph.erase(gone)
    if turned is not user:
        graph.rename(replacement.outputs[0], value.name)
    graph.rename(result, name)
    result.sources = sources
    _keep_names(graph, node, user, replacement)
    return replacement


def _only_use(graph: Graph, value: Value) -> tuple[Node, int] | None:
    """Return the node of this graph that alone reads the value, and where; None where others do, or it is an output."""
    if len(value.uses) != 1 or graph.is_output(value):
        return None
    ((user, slot),) = value.uses
    return (user, slot) if user.graph is graph else None


def _channel_axis(node: Node, rank: int) -> int:
    return rank - 1 if isinstance(node.op, MatMul | Gemm) else 1


def _channels(node: Node) -> int | None:
    """Return the number of output channels, None where it is open, or where weights cannot be scaled."""
    weight = node.inputs[1]
    if weight is None or weight.producer is not None or weight.tensor is None or len(weight.uses) != 1:
        return None
    op, shape = node.op, weight.tensor.shape
    if not weight.tensor.dtype.is_float or weight.graph is not node.graph or weight.graph.is_output(weight):
        return None
    if isinstance(op, ConvTranspose):
        return shape[1] if op.group == 1 else None
    if isinstance(op, Gemm):
        return shape[0 if op.transB else 1] if op.alpha == 1 else None
    if isinstance(op, MatMul):
        data = node.inputs[0]
        return shape[1] if len(shape) == 2 and data is not None and data.rank == 2 else None
    return shape[0]


class _Channels(NamedTuple):
    """How many channels a tensor has, on which axis, and its rank."""

    channels: int
    axis: int
    rank: int


def _affine(
    user: Node, slot: int, channels: _Channels
) -> tuple[Value | Callable[[], Any] | None, Callable[[], Any] | None] | None:
    """Scale and shift of each channel, as functions that give float64 vectors, None for none of it."""
    op = user.op
    if isinstance(op, BatchNormalization):
        tensors = [value.tensor if value is not None and value.producer is None else None for value in user.inputs[1:5]]
        if slot != 0 or channels.axis != 1 or any(tensor is None for tensor in tensors):
            return None
        gamma, beta, mean, variance = (_as_double(tensor) for tensor in tensors if tensor is not None)
        epsilon = op.epsilon

        def scale() -> Any:
            return gamma() / (variance() + epsilon) ** 0.5

        return scale, lambda: beta() - mean() * scale()
    other = user.inputs[1 - slot]
    if other is None or other.producer is not None or other.tensor is None or slot > 1:
        return None
    if isinstance(op, Div | Sub) and slot != 0:
        return None
    vector = _vector(other.tensor, channels)
    if vector is None:
        return None
    if isinstance(op, Mul):
        return vector, None
    if isinstance(op, Div):
        return lambda: 1 / vector(), None
    return None, (lambda: -vector()) if isinstance(op, Sub) else vector


def _as_double(tensor: Tensor) -> Callable[[], Any]:
    return lambda: tensor.numpy().astype("float64").reshape(-1)


def _vector(tensor: Tensor, channels: _Channels) -> Callable[[], Any] | None:
    """Return one number for each channel if the tensor broadcasts along nothing but channels."""
    count, axis, rank = channels
    shape = (1,) * (rank - len(tensor.shape)) + tensor.shape
    if len(shape) != rank or not tensor.dtype.is_float:
        return None
    if any(size != 1 for index, size in enumerate(shape) if index != axis) or shape[axis] not in (1, count):
        return None

    def read() -> Any:
        import numpy as np

        with np.errstate(invalid="ignore"):  # a NaN that signals stays one
            wide = tensor.numpy().astype(np.float64)
        return np.broadcast_to(wide.reshape(-1), (count,))

    return read


def _operands(graph: Graph, node: Node, scale: Any, shift: Any) -> list[Value | None] | None:
    """Return the operands with scaled weights and the new bias."""
    op, weight = node.op, node.inputs[1]
    bias = node.operand(2)
    assert weight is not None
    tensor, channels = weight.tensor, _channels(node)
    assert tensor is not None
    assert channels is not None
    beta = op.beta if isinstance(op, Gemm) else 1.0
    old: Callable[[], Any] | None = None
    if bias is not None:
        if bias.producer is not None or bias.tensor is None or bias.tensor.shape not in ((channels,), (1, channels)):
            return None
        old = _as_double(bias.tensor)
    dtype = tensor.dtype
    if scale is not None:
        axis = (0 if op.transB else 1) if isinstance(op, Gemm) else 0 if isinstance(op, Conv) else 1
        spread = tuple(-1 if index == axis else 1 for index in range(len(tensor.shape)))
        stored = tensor

        def scaled() -> Any:
            return _round_to(stored.numpy().astype("float64") * scale().reshape(spread), dtype)

        name = graph.fresh_name(f"{weight.name}_scaled")
        weight = graph.add_parameter(name, Tensor.computed(dtype, tensor.shape, scaled))
    if old is None and shift is None:
        return [node.inputs[0], weight]

    def moved() -> Any:
        import numpy as np

        total = np.zeros(channels) if old is None else beta * old()
        total = total if scale is None else total * scale()
        return _round_to(total if shift is None else total + shift(), dtype)

    parameter = graph.add_parameter(graph.fresh_name(f"{node.name}_bias"), Tensor.of(moved()))
    return [node.inputs[0], weight, parameter]


def _round_to(array: Any, dtype: Any) -> Any:
    """Return the numbers in a dtype; those beyond it are infinite, as where they are computed in it."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype.numpy())


def _keep_names(graph: Graph, node: Node, user: Node, replacement: Node) -> None:
    """Give new weights the names of those that they stand for, and a new bias the name of what was added."""
    pairs = list(zip(node.inputs[1:], replacement.inputs[1:], strict=False))
    if isinstance(user.op, Add) and len(pairs) == 1:
        addends = (value for value in user.inputs if value is not None and value.tensor is not None)
        pairs += [(value, replacement.inputs[2]) for value in addends]
    for old, new in pairs:
        if old is not None and new is not None and old is not new:
            _take_place(graph, old, new)


def _take_place(graph: Graph, old: Value, new: Value) -> None:
    """Give a parameter the name and origin of the one that it stands for, if nothing needs that any more."""
    new.sources = old.sources
    if not old.uses and old.graph is graph and not graph.is_output(old):
        name = old.name
        graph.erase_value(old)
        graph.rename(new, name)

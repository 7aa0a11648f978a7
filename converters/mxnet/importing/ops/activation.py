"""Activation functions, the softmax family, and Dropout."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from graphir.converters.kernel.dropout import dropped
from graphir.converters.kernel.importing import direct
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.integers import import_sigmoid as sigmoid_of_integers
from graphir.converters.mxnet.importing.ops.integers import is_integer, with_integers
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import activation as ir
from graphir.ops.base import Operator, normalize_axis
from graphir.ops.creation import Range
from graphir.ops.elementwise import Cast, Div, Exp, Identity, Less, Log, Neg, PRelu, Sub, Where
from graphir.ops.reduction import ReduceMax, ReduceSum
from graphir.ops.shape import Reshape, Shape, Squeeze, Unsqueeze
from graphir.types import UNKNOWN, Dim, DType, TensorType


def import_sigmoid(node: ImportNode) -> Value:
    """1 / (1 + e^-x), of integers too."""
    data = node.input(0)
    return sigmoid_of_integers(node) if is_integer(data) else node.emit(ir.Sigmoid(), data)


def import_relu(node: ImportNode) -> Value:
    """max(x, 0), of integers too."""
    data = node.input(0)
    is_unsigned = data.dtype is not None and data.dtype.value.startswith("u")
    return node.emit(Identity() if is_unsigned else ir.Relu(), data)


ACTIVATIONS: dict[str, Operator] = {
    "mish": ir.Mish(),
    "relu": ir.Relu(),
    "sigmoid": ir.Sigmoid(),
    "softrelu": ir.Softplus(),
    "softsign": ir.Softsign(),
    "tanh": ir.Tanh(),
}


def import_activation(node: ImportNode) -> Value:
    """Activation: the function that `act_type` names."""
    kind = node.attrs["act_type"]
    if kind == "log_sigmoid":
        return import_log_sigmoid(node)
    op = ACTIVATIONS.get(kind)
    if op is None:
        node.refuse(f"act_type {kind} is unknown; known are {', '.join(ACTIVATIONS)} and log_sigmoid")
    return node.emit(op, node.input(0))


def import_log_sigmoid(node: ImportNode) -> Value:
    """-log(1 + e^-x)."""
    negative = node.step(Neg(), node.input(0), suffix="negative")
    return node.emit(Neg(), node.step(ir.Softplus(), negative, suffix="softplus"))


def masked_softmax(node: ImportNode, *, logarithm: bool=False) -> Value:
    """Softmax along `axis` of the elements for which the mask holds, divided by `temperature`; the others are 0 or, of
    the logarithm, minus infinity."""
    attrs, data, mask = node.attrs, node.input(0), node.input(1)
    if mask.dtype not in (None, DType.BOOL):
        mask = node.cast(mask, DType.BOOL, suffix="mask")
    if attrs["temperature"] not in (None, 1):
        data = node.step(Div(), data, node.scalar_like(data, attrs["temperature"]))
    hidden = node.step(Where(), mask, data, node.scalar_like(data, -math.inf), suffix="hidden")
    op: Operator = ir.LogSoftmax(axis=attrs["axis"]) if logarithm else ir.Softmax(axis=attrs["axis"])
    rest = node.scalar_like(data, -math.inf if logarithm else 0.0)
    return node.emit(Where(), mask, node.step(op, hidden, suffix="of_all"), rest)


def import_leaky_relu(node: ImportNode) -> Value:
    """LeakyReLU: leaky, prelu (slopes are an input), rrelu, elu, selu and gelu."""
    attrs = node.attrs
    kind = attrs["act_type"]
    if kind == "prelu":
        return _import_prelu(node)
    slope = attrs["slope"]
    if kind == "rrelu":
        slope = (attrs["lower_bound"] + attrs["upper_bound"]) / 2
        node.decide(
            DecisionKind.RANDOM_SLOPE, f"rrelu takes the mean slope {slope:.6g} of its bounds, as MXNet at inference"
        )
    if kind in ("leaky", "rrelu"):
        return node.emit(ir.LeakyRelu(alpha=slope), node.input(0))
    op = {"elu": ir.Elu(alpha=slope), "selu": ir.Selu(), "gelu": ir.Gelu()}.get(kind)
    if op is None:
        node.refuse(f"act_type {kind} is unknown; known are leaky, prelu, rrelu, elu, selu, gelu")
    return node.emit(op, node.input(0))


def _import_prelu(node: ImportNode) -> Value:
    """The slopes are one for all or one for each channel (axis 1, axis 0 of a vector); those of two axes
    lie along the first two."""
    data, gamma = node.input(0), node.input(1)
    if gamma.shape is None:
        gamma = node.shaped(1, (_channels(data),))
    assert gamma.shape is not None
    rank = node.rank(data)
    if len(gamma.shape) > 2:
        node.refuse(f"slopes of {gamma.type}, expected one or two axes")
    if len(gamma.shape) == 2 and rank > 2:
        gamma = node.step(Unsqueeze(), gamma, node.vector(range(2, rank)), suffix="slope")
    if len(gamma.shape or ()) != 1 or gamma.shape == (1,):
        return node.emit(PRelu(), data, gamma)
    gamma = node.shaped(1, (_channels(data),))
    if rank > 2:
        gamma = node.step(Reshape(), gamma, node.vector([-1, *(1,) * (rank - 2)]), suffix="slope")
    return node.emit(PRelu(), data, gamma)


def _channels(data: Value) -> Dim:
    shape: tuple[Dim, ...] = data.shape or (UNKNOWN,)
    return shape[1] if len(shape) > 1 else shape[0]


def softmax_like(op: type[ir.Softmax] | type[ir.LogSoftmax], node: ImportNode, *, negate: bool=False) -> Value:
    """softmax, log_softmax and (with `negate`) softmin: along `axis`, of the data divided by `temperature`.

    A wider `dtype` is that of the computation, a narrower one that of the result only.
    """
    attrs = node.attrs
    axis, result = attrs["axis"], None if attrs["dtype"] is None else DType.of(attrs["dtype"])
    data = node.input(0)
    length = None
    if attrs["use_length"]:
        if len(node) < 2:
            node.refuse("use_length without the input length; MXNet does not run it either")
        length = node.input(1)
        if data.shape:
            index = normalize_axis(axis, len(data.shape))
            wanted = (*data.shape[:index], *data.shape[index + 1 :])
            if not wanted and not node.np_shape:
                wanted = (1,)  # of a vector; it broadcasts
            node.graph.refine(length, TensorType(None, wanted))
    narrow = result is not None and data.dtype is not None and result.bits < data.dtype.bits
    if result is not None and result is not data.dtype and not narrow:
        data = node.cast(data, result)
    temperature = 1.0 if attrs["temperature"] is None else attrs["temperature"]
    if temperature != 1:
        data = node.step(Div(), data, node.scalar_like(data, -temperature if negate else temperature))
    elif negate:
        data = node.step(Neg(), data)
    if length is not None:
        data = _masked(node, op(axis=axis), data, length)
    elif op is ir.LogSoftmax and data.dtype is DType.FLOAT64:
        data = _log_softmax_of_doubles(node, data, axis)
    elif not narrow:
        return node.emit(op(axis=axis), data)
    else:
        data = node.step(op(axis=axis), data)
    return node.emit(Cast(result), data) if narrow and result is not None else data


def _log_softmax_of_doubles(node: ImportNode, data: Value, axis: int) -> Value:
    """x - max - log sum exp(x - max): onnxruntime's kernel for float64 gives numbers for rows with NaN or infinity."""
    along = node.vector([axis])
    shifted = node.step(Sub(), data, node.step(ReduceMax(keepdims=True), data, along), suffix="shifted")
    total = node.step(ReduceSum(keepdims=True), node.step(Exp(), shifted), along, suffix="total")
    return node.step(Sub(), shifted, node.step(Log(), total), suffix="log")


def _masked(node: ImportNode, op: ir.Softmax | ir.LogSoftmax, data: Value, length: Value) -> Value:
    """Softmax of the first `length` elements along the axis; the others, or all of them for a length of 0, are 0."""
    rank = node.rank(data)
    axis = normalize_axis(op.axis, rank) - rank
    positions = _positions(node, data, axis, length.dtype or DType.INT32)
    if length.rank is None or length.rank != data.rank:
        length = node.step(Unsqueeze(), length, node.vector([axis]), suffix="length")
    mask = node.step(Less(), positions, length)
    hidden = node.step(Where(), mask, data, node.scalar_like(data, -math.inf), suffix="hidden")
    return node.step(Where(), mask, node.step(op, hidden), node.scalar_like(data, 0.0), suffix="kept")


def _positions(node: ImportNode, data: Value, axis: int, dtype: DType) -> Value:
    """0, 1, ... along an axis that is counted from the back, to broadcast against data."""
    size: Dim = UNKNOWN if data.shape is None else data.shape[axis]
    if isinstance(size, int):
        node.charge(size, "its positions")
        return node.constant(np.arange(size, dtype=dtype.numpy()).reshape(size, *(1,) * (-axis - 1)))
    count = node.step(Squeeze(), node.step(Shape(start=axis, end=axis + 1 if axis < -1 else None), data))
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    numbers = node.step(Range(), zero, count, one)
    if dtype is not DType.INT64:
        numbers = node.cast(numbers, dtype, suffix="positions")
    return numbers if axis == -1 else node.step(Unsqueeze(), numbers, node.vector(range(1, -axis)), suffix="along")


def import_softmax_activation(node: ImportNode) -> Value:
    """SoftmaxActivation: along axis 1 (channel) or, as MXNet's kernel does it for `instance`, along the last axis."""
    data = node.input(0)
    if node.attrs["mode"] == "channel":
        if data.rank is not None and data.rank < 3:
            node.refuse(f"mode channel takes at least 3 axes, found {data.type}; use mode instance")
        return node.emit(ir.Softmax(axis=1), data)
    if data.rank != 2:
        node.decide(
            DecisionKind.SOFTMAX_AXIS,
            "mode instance is along the last axis, as MXNet computes (not as it is documented)",
        )
    return node.emit(ir.Softmax(axis=-1), data)


def import_dropout(node: ImportNode) -> Value:
    """Dropout: nothing at inference, unless it is to stay for training."""
    text = f"p {node.attrs['p']:.6g}, without effect at inference"
    if always := node.attrs["mode"] == "always":
        extent = "in training only" if node.training else "never"
        text = f"p {node.attrs['p']:.6g} in mode always: MXNet drops at random at inference too, this graph {extent}"
    if always or not node.training:
        node.decide(DecisionKind.DROPOUT_REMOVED, text)
    return dropped(node, node.input(0), node.attrs["p"], node.attrs["axes"] or ()) if node.training else node.input(0)


IMPORTS: dict[str, ImportFunction] = {
    "Activation": import_activation,
    "Dropout": import_dropout,
    "LeakyReLU": import_leaky_relu,
    "SoftmaxActivation": import_softmax_activation,
    "hard_sigmoid": direct(ir.HardSigmoid, "alpha", "beta"),
    "log_softmax": partial(softmax_like, ir.LogSoftmax),
    "relu": import_relu,
    "sigmoid": import_sigmoid,
    "softmax": partial(softmax_like, ir.Softmax),
    "softmin": partial(softmax_like, ir.Softmax, negate=True),
    "log_sigmoid": import_log_sigmoid,
    "masked_log_softmax": partial(masked_softmax, logarithm=True),
    "masked_softmax": partial(masked_softmax),
    "mish": lambda node: node.emit(ir.Mish(), node.input(0)),
    **with_integers({
        "softsign": lambda node: node.emit(ir.Softsign(), node.input(0)),
        "tanh": lambda node: node.emit(ir.Tanh(), node.input(0)),
    }),
}

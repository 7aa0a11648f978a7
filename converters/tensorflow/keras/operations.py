"""Operations on values in Keras's models: version 3's `ops` (`Add`), and what version 2 wrote of TensorFlow's functions
(`__operators__.add`) when a model was made of more than layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.converters.tensorflow.keras.activations import activation
from graphir.converters.tensorflow.keras.arguments import (
    argument,
    bring_together,
    first_argument,
    several_arguments,
    tensor_argument,
    whole_numbers,
)
from graphir.converters.tensorflow.keras.context import KerasValue, LayerCall, values_in
from graphir.converters.tensorflow.keras.normalization import unit_length
from graphir.converters.tensorflow.keras.operation_rows import ROWS
from graphir.ops import activation as act
from graphir.ops import elementwise as ew
from graphir.ops import reduction as red
from graphir.ops.base import Operator
from graphir.ops.creation import ConstantOfShape
from graphir.ops.linear import MatMul
from graphir.ops.shape import Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.ops.slicing import Slice
from graphir.types import DType


def get_item(layer: LayerCall) -> Endpoint:
    """Return the slices, numbers, new axes and `...` of an index."""
    key = argument(layer, 1, "key", "slice_spec")
    parts = key if isinstance(key, list) else [key]
    if any(isinstance(number, KerasValue) for number in values_in(parts)):
        raise Refusal("an index that is computed")
    for part in parts:
        if isinstance(part, Mapping) and not _is_ellipsis(part):
            ends = [part.get(key) for key in ("start", "stop", "step")]
            whole_numbers([end for end in ends if end is not None], "its parts")
        elif part is not None and not _is_ellipsis(part):
            whole_numbers([part], "its parts")
    return layer.apply(_import_item(parts), "value", [tensor_argument(layer)])


def _import_item(parts: Sequence[Any]) -> ImportFunction:
    def import_item(node: ImportNode) -> Imported:
        value = node.input(0)
        rest = node.rank(value) - sum(part is not None and not _is_ellipsis(part) for part in parts)
        axis, result_axis = 0, 0
        cuts: list[tuple[int, int, int, int]] = []
        gone: list[int] = []
        new_axes: list[int] = []
        far = np.iinfo(np.int64).max
        for part in parts:
            if _is_ellipsis(part):
                axis, result_axis = axis + rest, result_axis + rest
                continue
            if part is None:
                new_axes.append(result_axis)
                result_axis += 1
                continue
            if isinstance(part, Mapping):
                step = part.get("step") or 1
                begin, end = (0, far) if step > 0 else (far, -far)
                begin = begin if part.get("start") is None else int(part["start"])
                end = end if part.get("stop") is None else int(part["stop"])
                result_axis += 1
            else:
                step, begin, end = 1, int(part), int(part) + 1 or far
                gone.append(axis)
            if (begin, end, step) != (0, far, 1):
                cuts.append((begin, end, axis, step))
            axis += 1
        if cuts:
            value = node.step(Slice(), value, *map(node.vector, zip(*cuts, strict=True)), suffix="part")
        if gone:
            value = node.step(Squeeze(), value, node.vector(gone), suffix="squeezed")
        return node.step(Unsqueeze(), value, node.vector(new_axes), suffix="item") if new_axes else value

    return import_item


def _is_ellipsis(part: Any) -> bool:
    return part is Ellipsis or (isinstance(part, Mapping) and part.get("class_name") == "__ellipsis__") or part == "..."


Build = Callable[[LayerCall], Any]
def _make_unary(op: Operator) -> Build:
    return lambda layer: layer.apply(op, "value", [tensor_argument(layer)])


def _make_activation(name: str) -> Build:
    return lambda layer: activation(layer, name, tensor_argument(layer))


def _make_binary(op: Operator, *, negated: bool = False) -> Build:
    """Return an operation on two values, either of which may be a number or a constant array."""

    def build(layer: LayerCall) -> Endpoint:
        pair = [first_argument(layer), argument(layer, 1, "x2", "y", "b")]
        endpoints = [side.value for side in pair if isinstance(side, KerasValue)]
        if not endpoints or any(isinstance(side, (str, Mapping, list)) or side is None for side in pair):
            raise Refusal("its arguments are not two values or numbers")

        def import_binary(node: ImportNode) -> Imported:
            sides = bring_together(node, pair)
            return node.emit(ew.Not(), node.step(op, *sides, suffix="opposite")) if negated else node.emit(op, *sides)

        return layer.apply(import_binary, "value", endpoints)

    return build


def _read_axes(layer: LayerCall) -> list[int] | None:
    axes = argument(layer, 1, "axis", "axes", "reduction_indices")
    return None if axes is None else [axes] if isinstance(axes, int) else whole_numbers(axes, "its axes")


def _read_axis(layer: LayerCall) -> int:
    """Return one axis, the first if none is stated."""
    axis = argument(layer, 1, "axis")
    return whole_numbers([0 if axis is None else axis], "its axis")[0]


def _make_reduction(cls: type[Operator]) -> Build:
    def build(layer: LayerCall) -> Endpoint:
        axes, keep = _read_axes(layer), bool(argument(layer, 2, "keepdims", "keep_dims"))

        def import_reduction(node: ImportNode) -> Imported:
            value = node.input(0)
            dims = range(node.rank(value)) if axes is None else axes
            return node.emit(cls(keepdims=keep), value, node.vector(dims))

        return layer.apply(import_reduction, "value", [tensor_argument(layer)])

    return build


def _make_boolean_reduction(op: str) -> Build:
    def build(layer: LayerCall) -> Endpoint:
        axes = _read_axes(layer)
        if axes is None:
            raise Refusal("a reduction over all axes of a boolean value")
        keep = bool(argument(layer, 2, "keepdims"))
        return layer.add(op, "value", [tensor_argument(layer), layer.constant("axes", axes)], keep_dims=keep)

    return build


def _make_along_axis(cls: type[Operator]) -> Build:
    def build(layer: LayerCall) -> Endpoint:
        axis = argument(layer, 1, "axis")
        return layer.apply(cls(-1 if axis is None else axis), "value", [tensor_argument(layer)])

    return build


def concatenate(layer: LayerCall) -> Endpoint:
    """Join values along an axis."""
    return layer.apply(Concat(_read_axis(layer)), "value", several_arguments(layer, first_argument(layer)))


def stack(layer: LayerCall) -> Endpoint:
    """Join values along a new axis."""
    axis = _read_axis(layer)

    def import_stack(node: ImportNode) -> Imported:
        rows = [node.step(Unsqueeze(), value, node.vector([axis]), suffix="row") for value in node.inputs]
        return node.emit(Concat(axis), *rows)

    return layer.apply(import_stack, "value", several_arguments(layer, first_argument(layer)))


def reshape(layer: LayerCall) -> Endpoint:
    """Return the value with another shape of numbers."""
    shape = argument(layer, 1, "newshape", "shape")
    if not isinstance(shape, list) or not all(isinstance(size, int) for size in shape):
        raise Refusal("a shape that is computed, or None in it: use -1, or the layer Reshape")
    data = tensor_argument(layer)
    return layer.apply(lambda node: node.emit(Reshape(), node.input(0), node.vector(shape)), "value", [data])


def transpose(layer: LayerCall) -> Endpoint:
    """Return the value with another order of axes; the reverse one if none is stated."""
    stated = argument(layer, 1, "axes", "perm")
    order = None if stated is None else whole_numbers(stated, "its axes")

    def import_transpose(node: ImportNode) -> Imported:
        rank = node.rank(node.input(0))
        axes = range(rank - 1, -1, -1) if order is None else [node.axis(axis, rank) for axis in order]
        return node.emit(Transpose(tuple(axes)), node.input(0))

    return layer.apply(import_transpose, "value", [tensor_argument(layer)])


def _make_with_axes(op: Operator) -> Build:
    def build(layer: LayerCall) -> Endpoint:
        axes = _read_axes(layer)

        def import_axes(node: ImportNode) -> Imported:
            return node.emit(op, node.input(0), *([] if axes is None else [node.vector(axes)]))

        return layer.apply(import_axes, "value", [tensor_argument(layer)])

    return build


def cast(layer: LayerCall) -> Endpoint:
    """Return the value in another dtype. A value that has it already is handed on, with its mask."""
    dtype, value = argument(layer, 1, "dtype"), first_argument(layer)
    if dtype is None:
        return tensor_argument(layer)
    if layer.keras >= 3 and isinstance(value, KerasValue) and value.dtype == dtype:
        return value.value
    return layer.apply(ew.Cast(DType.of(dtype)), "value", [tensor_argument(layer)])


def _make_filled(number: float) -> Build:
    """Return the operation that fills a value with one number, in its dtype or another. Masks are merged with them."""

    def filled(layer: LayerCall) -> Endpoint:
        stated = argument(layer, 1, "dtype")

        def import_filled(node: ImportNode) -> Imported:
            dtype = node.dtype() if stated is None else DType.of(stated)
            return node.emit(ConstantOfShape(number, dtype), node.step(Shape(), node.input(0), suffix="sizes"))

        return layer.apply(import_filled, "value", [tensor_argument(layer)])

    return filled


def clip(layer: LayerCall) -> Endpoint:
    """Limit a value to two numbers."""
    ends = [argument(layer, 1, "x_min", "clip_value_min"), argument(layer, 2, "x_max", "clip_value_max")]
    if not all(isinstance(end, (int, float)) for end in ends):
        raise Refusal("bounds that are computed")

    def import_clip(node: ImportNode) -> Imported:
        value = node.input(0)
        return node.emit(ew.Clip(), value, *(node.scalar_like(value, float(end)) for end in ends))

    return layer.apply(import_clip, "value", [tensor_argument(layer)])


def gelu(layer: LayerCall) -> Endpoint:
    """Return gelu, exact or by tanh, which version 3's operation does unless it states otherwise."""
    stated = argument(layer, 1, "approximate")
    kind = act.Approximation.TANH if stated else act.Approximation.NONE
    return layer.apply(act.Gelu(kind), "value", [tensor_argument(layer)])


def square(layer: LayerCall) -> Endpoint:
    """Return x * x."""
    return layer.apply(ew.Mul(), "value", [tensor_argument(layer)] * 2)


def rsqrt(layer: LayerCall) -> Endpoint:
    """Return 1 / sqrt(x)."""
    return layer.add("Rsqrt", "value", [tensor_argument(layer)])


def normalize(layer: LayerCall) -> Endpoint:
    """Return x by its length along an axis."""
    if layer.kwargs.get("order") not in (2, None):
        raise Refusal(f"the order {layer.kwargs['order']}; only 2 is read")
    least = float(layer.kwargs.get("epsilon") or 1e-12)
    return unit_length(layer, tensor_argument(layer), _read_axes(layer) or [-1], least, "value")


def matmul(layer: LayerCall) -> Endpoint:
    """Return a product of matrices."""
    pair = [first_argument(layer), argument(layer, 1, "x2", "b")]
    if not all(isinstance(side, KerasValue) for side in pair):
        raise Refusal("a product with a constant")
    flags = {"adj_x": bool(layer.kwargs.get("transpose_a")), "adj_y": bool(layer.kwargs.get("transpose_b"))}
    operands = [side.value for side in pair]
    if any(flags.values()):
        return layer.add("BatchMatMulV2", "value", operands, **flags)
    return layer.apply(MatMul(), "value", operands)


def identity(layer: LayerCall) -> Endpoint:
    """Return a copy of the data: the operation does nothing at inference, and the mask is not handed on."""
    return layer.add("Identity", "value", [tensor_argument(layer)])


# Version 3's class, then the functions of TensorFlow that version 2 names.
_ROWS: tuple[tuple[tuple[str, ...], Build], ...] = (
    (("Absolute", "math.abs"), _make_unary(ew.Abs())),
    (("Add", "__operators__.add", "math.add"), _make_binary(ew.Add())),
    (("All", "math.reduce_all"), _make_boolean_reduction("All")),
    (("Any", "math.reduce_any"), _make_boolean_reduction("Any")),
    (("Cast", "ConvertToTensor", "cast"), cast),
    (("Ceil", "math.ceil"), _make_unary(ew.Ceil())),
    (("Clip", "clip_by_value"), clip),
    (("Concatenate", "concat"), concatenate),
    (("Cos", "math.cos"), _make_unary(ew.Cos())),
    (("Divide", "TrueDivide", "math.truediv"), _make_binary(ew.Div())),
    (("nn.elu",), _make_activation("elu")),
    (("Equal", "math.equal"), _make_binary(ew.Equal())),
    (("Erf", "math.erf"), _make_unary(ew.Erf())),
    (("Exp", "math.exp"), _make_unary(ew.Exp())),
    (("ExpandDims", "expand_dims"), _make_with_axes(Unsqueeze())),
    (("Floor", "math.floor"), _make_unary(ew.Floor())),
    (("Gelu", "nn.gelu"), gelu),
    (("GetItem", "__operators__.getitem"), get_item),
    (("Greater", "math.greater"), _make_binary(ew.Greater())),
    (("GreaterEqual", "math.greater_equal"), _make_binary(ew.GreaterOrEqual())),
    (("HardSigmoid",), _make_activation("hard_sigmoid")),
    (("HardSilu",), _make_activation("hard_silu")),
        (("StopGradient", "stop_gradient", "identity"), identity),
    (("Less", "math.less"), _make_binary(ew.Less())),
    (("LessEqual", "math.less_equal"), _make_binary(ew.LessOrEqual())),
    (("Log", "math.log"), _make_unary(ew.Log())),
    (("LogicalAnd", "math.logical_and"), _make_binary(ew.And())),
    (("LogicalNot", "math.logical_not"), _make_unary(ew.Not())),
    (("LogicalOr", "math.logical_or"), _make_binary(ew.Or())),
    (("LogSoftmax", "nn.log_softmax"), _make_along_axis(act.LogSoftmax)),
    (("Matmul", "linalg.matmul"), matmul),
    (("Amax", "Max", "math.reduce_max"), _make_reduction(red.ReduceMax)),
    (("Maximum", "math.maximum"), _make_binary(ew.Max())),
    (("Mean", "math.reduce_mean"), _make_reduction(red.ReduceMean)),
    (("Amin", "Min", "math.reduce_min"), _make_reduction(red.ReduceMin)),
    (("Minimum", "math.minimum"), _make_binary(ew.Min())),
    (("Multiply", "math.multiply"), _make_binary(ew.Mul())),
    (("Negative", "math.negative"), _make_unary(ew.Neg())),
    (("Normalize", "math.l2_normalize", "nn.l2_normalize"), normalize),
    (("NotEqual", "math.not_equal"), _make_binary(ew.Equal(), negated=True)),
    (("OnesLike",), _make_filled(1.0)),
    (("Power", "math.pow"), _make_binary(ew.Pow())),
    (("Prod", "math.reduce_prod"), _make_reduction(red.ReduceProd)),
    (("Relu", "nn.relu"), _make_activation("relu")),
    (("HardTanh",), _make_activation("hard_tanh")),
    (("LogSigmoid",), _make_activation("log_sigmoid")),
    (("TanhShrink",), _make_activation("tanh_shrink")),
    (("Relu6", "nn.relu6"), _make_activation("relu6")),
    (("Reshape", "reshape"), reshape),
    (("Rsqrt", "math.rsqrt"), rsqrt),
    (("Selu", "nn.selu"), _make_activation("selu")),
    (("Sigmoid", "math.sigmoid", "nn.sigmoid"), _make_activation("sigmoid")),
    (("Sign", "math.sign"), _make_unary(ew.Sign())),
    (("Silu", "nn.silu", "nn.swish"), _make_activation("silu")),
    (("Sin", "math.sin"), _make_unary(ew.Sin())),
    (("Softmax", "nn.softmax"), _make_along_axis(act.Softmax)),
    (("Softplus", "math.softplus", "nn.softplus"), _make_activation("softplus")),
    (("Softsign", "nn.softsign"), _make_activation("softsign")),
    (("Sqrt", "math.sqrt"), _make_unary(ew.Sqrt())),
    (("Square", "math.square"), square),
    (("Squeeze", "squeeze", "compat.v1.squeeze"), _make_with_axes(Squeeze())),
    (("Stack", "stack"), stack),
    (("Subtract", "math.subtract"), _make_binary(ew.Sub())),
    (("Sum", "math.reduce_sum"), _make_reduction(red.ReduceSum)),
    (("Tanh", "math.tanh", "nn.tanh"), _make_activation("tanh")),
    (("Transpose", "transpose", "compat.v1.transpose"), transpose),
    (("ZerosLike",), _make_filled(0.0)),
)
OPERATIONS: Mapping[str, Build] = {**ROWS, **{name: build for names, build in _ROWS for name in names}}

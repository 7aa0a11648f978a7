"""Constants, inputs, and tensors made out of sizes."""

from __future__ import annotations

from graphir.converters.tensorflow.files.records import TFNode
from graphir.converters.tensorflow.files.tensors import Splat
from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.pairs import COMPLEX
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.creation import ConstantOfShape, Range
from graphir.ops.elementwise import Add, Cast, Div, Max, Mul, Sub
from graphir.ops.shape import Expand, Reshape
from graphir.ops.shape import Shape as ShapeOf
from graphir.safety.limits import charge_elements
from graphir.tensor import Tensor
from graphir.types import Dim, DType, Shape, TensorType, Unknown, symbol, unify_shape

# Until this version of the graph format a Placeholder of rank 0 could as well be one of unknown rank.
LAST_UNCERTAIN_PRODUCER = 21
# What the axes of inputs of 1, 2 and more axes are usually called.
LETTERS = ("N", "NT", "NTC", "NHWC", "NDHWC")
# From so many elements on, a constant that holds one element throughout is made when the graph runs.
MANY = 1 << 20
# What every ONNX opset has a Range in.
RANGES = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT16, DType.INT32, DType.INT64})


def import_const(node: ImportNode) -> Value:
    """Return a constant, its elements where they lie. One element that stands for very many stays one."""
    value = node.attrs["value"]
    if not isinstance(value, Tensor):
        node.refuse(f"its value is {value!r}, expected a tensor")
    if value.dtype is not node.attrs["dtype"]:
        node.refuse(f"its value is of {value.dtype}, but it states {node.attrs['dtype']}")
    if isinstance(value, Splat) and value.size > MANY:
        number = _to_exact_float(value.element.item()) if value.dtype not in COMPLEX else None
        if number is not None:
            return node.emit(ConstantOfShape(number, value.dtype), node.vector(value.shape))
        charge_elements(value.size, f"node {node.name} ({node.op}) of the shape {list(value.shape)}")
    return node.parameter(value)


def import_placeholder(node: ImportNode) -> Value:
    """Return an input of the graph. What the user gives for open sizes fills them; those that stay open get names."""
    shape = stated_shape(node.record, node.producer)
    if node.given_shape is not None:
        shape = unify_shape(node.given_shape, shape)
    dtype = node.given_dtype or node.attrs["dtype"]
    if not isinstance(dtype, DType):
        node.refuse(f"an input of type {dtype}")
    return node.new_input(TensorType(dtype, _name_sizes(node, shape)))


def stated_shape(node: TFNode, producer: int) -> Shape | None:
    """Return the shape that a placeholder states, None where it states none."""
    shape: Shape | None = node.attrs.get("shape")
    return None if shape == () and producer <= LAST_UNCERTAIN_PRODUCER else shape


def _name_sizes(node: ImportNode, shape: Shape | None) -> Shape | None:
    """Return the shape with a symbol for each size that is open; the importer gives them their names in the end."""
    if shape is None:
        return None
    dims: list[Dim] = []
    for axis, dim in enumerate(shape):
        if isinstance(dim, Unknown):
            name = _axis_name(node.name, axis)
            node.importer.opened[name] = node.name, axis
            dims.append(symbol(name))
        else:
            dims.append(dim)
    return tuple(dims)


def _axis_name(name: str, axis: int) -> str:
    """Return a symbol for an open size: the input's name, in letters that a symbol may have, and the axis."""
    clean = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)
    return f"{clean if not clean[:1].isdigit() else '_' + clean}_{axis}"


def size_letter(value: Value, axis: int) -> str:
    """Return what the size of an input's axis is usually called: T for steps, H and W of images, C for channels."""
    shape = value.shape or ()
    if len(shape) > len(LETTERS):
        return f"D{axis}"
    is_open = [not isinstance(size, int) for size in shape]
    channels_first = len(shape) > 2 and not is_open[1] and all(is_open[2:])
    letters = LETTERS[len(shape) - 1]
    return (letters[0] + letters[-1] + letters[1:-1] if channels_first else letters)[axis]


def import_placeholder_with_default(node: ImportNode) -> Value:
    """Return its default, or an input of the graph if the user gives a shape or dtype for it."""
    default = node.input(0)
    if node.given_shape is None and node.given_dtype is None:
        node.decide(DecisionKind.DEFAULT_TAKEN, f"an input with a default, which is used: {default.name}")
        return default
    shape = node.attrs.get("shape") if node.given_shape is None else node.given_shape
    return node.new_input(TensorType(node.given_dtype or default.dtype, _name_sizes(node, shape)))


def import_fill(node: ImportNode) -> Value:
    """Fill: one value everywhere."""
    value = node.input(1)
    number = _number(value)
    if number is None:
        return node.emit(Expand(), value, node.int64(node.input(0)))
    return node.emit(ConstantOfShape(number, node.dtype(1)), node.int64(node.input(0)))


def _number(value: Value) -> float | None:
    """Return a constant scalar as a Python float, None where it is computed, or a float cannot hold it."""
    if value.tensor is None or value.tensor.size != 1 or value.dtype in (None, DType.STRING):
        return None
    if value.dtype in COMPLEX:
        return None
    return _to_exact_float(value.tensor.numpy().reshape(-1)[0].item())


def _to_exact_float(number: int | float) -> float | None:
    """Return a number as a float that is the same, None where there is none."""
    return float(number) if float(number) == number else None


def constant_like(number: float) -> ImportFunction:
    """Return the import function of ZerosLike and OnesLike."""

    def import_constant_like(node: ImportNode) -> Value:
        shape = node.step(ShapeOf(), node.input(0))
        return node.emit(ConstantOfShape(number, node.dtype()), shape)

    return import_constant_like


def import_empty(node: ImportNode) -> Value:
    """Empty: zeros, which TensorFlow promises only under `init`."""
    if not node.attrs["init"]:
        node.decide(DecisionKind.UNDEFINED_ELEMENTS, "elements that TensorFlow leaves undefined are zeros")
    dtype = node.attrs["dtype"]
    if not isinstance(dtype, DType) or dtype is DType.STRING:
        node.refuse(f"an empty tensor of {dtype}")
    return node.emit(ConstantOfShape(0.0, dtype), node.int64(node.input(0)))


def import_range(node: ImportNode) -> Value:
    """Range; dtypes that ONNX has no Range in are computed in int64 or float32."""
    dtype = node.dtype()
    if dtype in RANGES:
        return node.emit(Range(), *node.inputs)
    wider = DType.FLOAT32 if dtype.is_float else DType.INT64
    if dtype.is_float:
        node.decide(DecisionKind.PRECISION, f"a Range of {dtype} is computed in {wider} and rounded once")
    ends = [node.cast(value, wider, suffix="wider") for value in node.inputs]
    return node.emit(Cast(dtype), node.step(Range(), *ends))


def import_lin_space(node: ImportNode) -> Value:
    """LinSpace: `num` numbers from start to stop, both included; start alone if it is 1."""
    start, stop, num = node.inputs
    dtype = node.dtype()
    count = node.int64(num) if num.shape == () else node.step(Reshape(), node.int64(num), node.vector([]))
    unit = node.constant(1, DType.INT64)
    steps = node.step(Max(), node.step(Sub(), count, unit, suffix="steps"), unit, suffix="divisor")
    distance = node.step(Sub(), stop, start, suffix="distance")
    width = node.step(Div(), distance, node.cast(steps, dtype, suffix="float_steps"), suffix="width")
    indices = node.step(Range(), node.constant(0, DType.INT64), count, unit, suffix="places")
    moved = node.step(Mul(), node.cast(indices, dtype, suffix="float_places"), width, suffix="moved")
    return node.emit(Add(), start, moved)


IMPORTS: dict[str, ImportFunction] = {
    "Const": import_const,
    "Empty": import_empty,
    "Fill": import_fill,
    "LinSpace": import_lin_space,
    "OnesLike": constant_like(1.0),
    "Placeholder": import_placeholder,
    "PlaceholderV2": import_placeholder,
    "PlaceholderWithDefault": import_placeholder_with_default,
    "Range": import_range,
    "ZerosLike": constant_like(0.0),
}

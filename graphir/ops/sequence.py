"""Sequences of tensors, and values that may be absent.

What inference knows of a sequence (its `Known`) is how many elements it has, as a scalar.
"""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.types import (
    ANYTHING,
    UNKNOWN,
    Dim,
    DType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    Type,
    ceildiv,
    dim_min,
    format_shape,
)

from .base import Known, Operand, Operator, Values, normalize_axis, operator
from .control import common_type
from .dtypes import COMMON, INDICES
from .elements import is_natural
from .traits import Rounding


def _length(known: Known | None) -> Dim:
    """Return how many elements a sequence has."""
    return UNKNOWN if known is None else known.dims()[0]


def _element(sequence: Type, what: str = "input_sequence") -> Type:
    """Return what a sequence holds. Raises ShapeError for what is none."""
    if isinstance(sequence, SequenceType):
        return sequence.element
    if sequence == ANYTHING:
        return ANYTHING
    raise ShapeError(f"{what} is {sequence}, expected a sequence")


def _check_position(position: Type | None) -> None:
    if isinstance(position, TensorType) and position.dtype not in (None, DType.INT32, DType.INT64):
        raise ShapeError(f"position is {position.dtype}, expected int32 or int64")


def _common_element(*elements: Type) -> Type:
    """Return the type of a sequence's elements that all of these can be. Raises ShapeError if their dtypes differ."""
    common = elements[0]
    for element in elements[1:]:
        dtypes = [type_.dtype for type_ in (common, element) if isinstance(type_, TensorType)]
        if len(set(dtypes) - {None}) > 1:
            raise ShapeError(f"a sequence cannot hold both {common} and {element}")
        common = common_type(common, element)
    return common


@operator
class SequenceConstruct(Operator):
    """The sequence of the operands, which have one dtype. Source: ONNX SequenceConstruct-11."""

    inputs = ("inputs*",)
    outputs = ("output_sequence",)
    takes = (COMMON - {DType.BFLOAT16},)
    knows_itself = True
    rounding = Rounding.LISTS

    def infer(self, *operands: Type | None) -> Type:
        present = [operand for operand in operands if operand is not None]
        if not present or len(present) != len(operands):
            raise ShapeError("an element is absent")
        return SequenceType(_common_element(*present))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return (Known.scalar(len(operands)),)


@operator
class SequenceEmpty(Operator):
    """A sequence without elements, for tensors of `dtype`. Source: ONNX SequenceEmpty-11."""

    outputs = ("output_sequence",)
    rounding = Rounding.LISTS
    dtype: DType = DType.FLOAT32

    def infer(self) -> Type:
        return SequenceType(TensorType(self.dtype, None))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return (Known.scalar(0),)


@operator
class SequenceAt(Operator):
    """The element at `position`, a scalar, counted from the back if negative. Source: ONNX SequenceAt-11."""

    inputs = ("input_sequence", "position")
    outputs = ("tensor",)
    takes = (None, INDICES)
    rounding = Rounding.LISTS

    def infer(self, sequence: Type, position: Type) -> Type:
        _check_position(position)
        return _element(sequence)


@operator
class SequenceInsert(Operator):
    """The sequence with `tensor` put before the element at `position`, a scalar, or behind the last one.

    Source: ONNX SequenceInsert-11.
    """

    inputs = ("input_sequence", "tensor", "position?")
    outputs = ("output_sequence",)
    takes = (None, COMMON - {DType.BFLOAT16}, INDICES)
    reads = frozenset({0})
    rounding = Rounding.LISTS

    def infer(self, sequence: Type, tensor: Type, position: Type | None = None, *, values: Values) -> Type:
        _check_position(position)
        element = _common_element(_element(sequence), tensor)
        return SequenceType(tensor if _length(values[0]) == 0 else element)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return (Known.scalar(_length(values[0]) + 1),)


@operator
class SequenceErase(Operator):
    """The sequence without the element at `position`, a scalar, or without the last one.

    Source: ONNX SequenceErase-11.
    """

    inputs = ("input_sequence", "position?")
    outputs = ("output_sequence",)
    takes = (None, INDICES)
    rounding = Rounding.LISTS

    def infer(self, sequence: Type, position: Type | None = None) -> Type:
        _check_position(position)
        return SequenceType(_element(sequence))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return (Known.scalar(_length(values[0]) - 1),)


@operator
class SequenceLength(Operator):
    """How many elements a sequence has, an int64 scalar. Source: ONNX SequenceLength-11."""

    inputs = ("input_sequence",)
    outputs = ("length",)
    rounding = Rounding.SIZES

    def infer(self, sequence: Type) -> Type:
        _element(sequence)
        return TensorType(DType.INT64, ())

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return (values[0],)


@operator
class ConcatFromSequence(Operator):
    """The elements of a sequence joined along `axis`, with `new_axis` one that they do not have yet.

    Source: ONNX ConcatFromSequence-11.
    """

    inputs = ("input_sequence",)
    outputs = ("concat_result",)
    reads = frozenset({0})
    rounding = Rounding.LISTS
    axis_in_result = True
    axis: int
    new_axis: bool = False

    def infer(self, sequence: Type, *, values: Values) -> Type:
        element = _element(sequence)
        if not isinstance(element, TensorType):
            raise ShapeError(f"input_sequence is {sequence}, expected a sequence of tensors")
        if element.shape is None:
            return TensorType(element.dtype, None)
        index = normalize_axis(self.axis, len(element.shape) + self.new_axis)
        behind = element.shape[index + (not self.new_axis) :]
        size = _length(values[0]) * (1 if self.new_axis else element.shape[index])
        return TensorType(element.dtype, (*element.shape[:index], size, *behind))


@operator
class SplitToSequence(Operator):
    """The parts of X along `axis` as a sequence.

    `split` is the size of each part but perhaps the last (a scalar), or of every part (a vector). Without it parts have
    size 1, and lose the axis unless `keepdims`; onnxruntime drops it also where a scalar `split` makes parts of 1, so
    that the rank is open there. Source: ONNX SplitToSequence-24.
    """

    inputs = ("X", "split?")
    outputs = ("output_sequence",)
    takes = (COMMON, INDICES)
    knows_itself = True
    reads = frozenset({1})
    rounding = Rounding.LISTS
    axis: int = 0
    keepdims: bool = True

    def infer(self, x: TensorType, split: TensorType | None = None, *, values: Values) -> Type:
        if x.shape is None:
            return SequenceType(TensorType(x.dtype, None))
        index = normalize_axis(self.axis, len(x.shape))
        before, behind = x.shape[:index], x.shape[index + 1 :]
        if split is None and not self.keepdims:
            return SequenceType(TensorType(x.dtype, (*before, *behind)))
        if split is not None and not self.keepdims and not split.shape:
            longest = dim_min(_length(values[1]), x.shape[index])
            if not is_natural(longest, 2):
                return SequenceType(TensorType(x.dtype, None))
        size = 1 if split is None else _part(x.shape, index, values[1])
        return SequenceType(TensorType(x.dtype, (*before, size, *behind)))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        x, split = operands[0], operands[1] if len(operands) > 1 else None
        if split is not None and split.shape is not None and len(split.shape) == 1:
            return (Known.scalar(split.shape[0]),)
        size = UNKNOWN if x is None or x.shape is None else x.shape[normalize_axis(self.axis, len(x.shape))]
        part = 1 if split is None else _length(values[1])
        return (Known.scalar(ceildiv(size, part) if is_natural(part, 1) else UNKNOWN),)


def _part(shape: Shape, axis: int, split: Known | None) -> Dim:
    """Return the size that all parts have, UNKNOWN if they differ or may. Raises ShapeError if they are not the
    whole."""
    sizes = None if split is None else split.integers()
    whole = shape[axis]
    if split is None or sizes is None:
        return UNKNOWN
    if split.shape:
        if isinstance(whole, int) and sum(sizes) != whole:
            raise ShapeError(f"parts of {list(sizes)} do not make up axis {axis} of {format_shape(shape)}")
        return sizes[0] if len(set(sizes)) == 1 else UNKNOWN
    if sizes[0] < 1:
        raise ShapeError(f"parts of {sizes[0]} elements")
    return sizes[0] if isinstance(whole, int) and whole % sizes[0] == 0 else UNKNOWN


@operator
class SequenceMap(Operator):
    """The node's subgraph run for each element of `input_sequence`, its results gathered in sequences.

    Further operands that are sequences, of the same length, give the subgraph an element each, tensors are given whole.
    What it gives is inferred from the subgraph (`inference.control`). Source: ONNX SequenceMap-17.
    """

    inputs = ("input_sequence", "additional_inputs*?")
    outputs = ("out_sequence",)
    rounding = Rounding.INSIDE
    results: int = 1

    @property
    def output_count(self) -> int:
        """How many results the subgraph gives."""
        return self.results

    def infer(self, sequence: Type, *further: Type) -> tuple[Type, ...]:
        _element(sequence)
        return (SequenceType(ANYTHING),) * self.results


@operator
class Optional(Operator):
    """The operand as a value that may be absent; without operand an absent one of type `type`.

    Source: ONNX Optional-28.
    """

    inputs = ("input?",)
    outputs = ("output",)
    rounding = Rounding.LISTS
    type: Type | None = None

    def infer(self, value: Type | None = None) -> Type:
        if value is not None:
            return OptionalType(value)
        if self.type is None:
            raise ShapeError("without an operand the type of what is absent must be stated")
        return OptionalType(self.type)


@operator
class OptionalGetElement(Operator):
    """The value that an optional holds; an operand that is none passes through. Source: ONNX OptionalGetElement-28."""

    inputs = ("input",)
    outputs = ("output",)
    rounding = Rounding.LISTS

    def infer(self, value: Type) -> Type:
        return value.element if isinstance(value, OptionalType) else value


@operator
class OptionalHasElement(Operator):
    """Whether an optional holds a value, a boolean scalar; true for what is no optional, false for no operand.

    Source: ONNX OptionalHasElement-28.
    """

    inputs = ("input?",)
    outputs = ("output",)
    rounding = Rounding.SIZES

    def infer(self, value: Type | None = None) -> Type:
        return TensorType(DType.BOOL, ())


OPERATORS = (
    *(SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase, SequenceLength),
    *(ConcatFromSequence, SplitToSequence, SequenceMap, Optional, OptionalGetElement, OptionalHasElement),
)

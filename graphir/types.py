"""Types of values: dtypes, shapes, tensors, and the sequence, optional and sparse types that ONNX has besides.

Unknown is a state of its own everywhere: a dtype of None, a shape of None (unknown rank, which is not rank 0), a
dimension `UNKNOWN`. Symbolic dimensions are expressions (see `dims`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Union

from graphir.structure.record import record

from .errors import ShapeError
from .symbolic.dims import UNKNOWN as UNKNOWN
from .symbolic.dims import Dim as Dim
from .symbolic.dims import Shape as Shape
from .symbolic.dims import Sym as Sym
from .symbolic.dims import Unknown as Unknown
from .symbolic.dims import ceildiv as ceildiv
from .symbolic.dims import dim_max as dim_max
from .symbolic.dims import dim_min as dim_min
from .symbolic.dims import substitute as substitute
from .symbolic.dims import symbol as symbol
from .symbolic.text import DIMENSIONS, dimensions
from .symbolic.text import parse_dim as parse_dim

if TYPE_CHECKING:
    import numpy as np


class DType(enum.Enum):
    """An element type. The value is its name; `bits` its width in memory (strings have none)."""

    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BFLOAT16 = "bfloat16"
    FLOAT8E4M3FN = "float8e4m3fn"
    FLOAT8E4M3FNUZ = "float8e4m3fnuz"
    FLOAT8E5M2 = "float8e5m2"
    FLOAT8E5M2FNUZ = "float8e5m2fnuz"
    FLOAT8E8M0 = "float8e8m0"
    FLOAT4E2M1 = "float4e2m1"
    INT2 = "int2"
    INT4 = "int4"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT2 = "uint2"
    UINT4 = "uint4"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"
    STRING = "string"

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return str(self.value)

    @property
    def bits(self) -> int:
        """Bits of one element; 0 for strings."""
        return _BITS[self]

    @property
    def is_float(self) -> bool:
        """Whether the elements are real floating point numbers."""
        return self._value_.startswith(("float", "bfloat"))

    @property
    def is_unsigned(self) -> bool:
        """Whether this is one of the integer types without negative numbers."""
        return self.value.startswith("uint")

    @property
    def is_integer(self) -> bool:
        """Whether the elements are integers (bool is not one)."""
        return self.value.startswith(("int", "uint"))

    def numpy(self) -> np.dtype[Any]:
        """Return the numpy dtype that holds such elements; types that numpy does not have come from ml_dtypes."""
        import numpy as np

        if self.value in _ML_DTYPES:
            import ml_dtypes

            name = _ML_DTYPES[self.value]
            if not hasattr(ml_dtypes, name):
                raise ShapeError(f"{self} needs a newer ml_dtypes: this one has no {name}")
            return np.dtype(getattr(ml_dtypes, name))
        return np.dtype(object if self is DType.STRING else self.value)

    @staticmethod
    def of(value: object) -> DType:
        """Return the DType of a name, a numpy dtype, or anything with a `dtype`. Raises ShapeError for what is none."""
        if isinstance(value, DType):
            return value
        name = value if isinstance(value, str) else str(getattr(value, "name", value))
        dtype = _BY_NAME.get(name)
        if dtype is None:
            import numpy as np

            elements = (np.generic, bool, int, float, complex, str)
            if value is not None and (not isinstance(value, type) or issubclass(value, elements)):
                try:
                    dtype = _BY_NAME.get(np.dtype(value).name)  # type: ignore[call-overload]
                except (TypeError, ValueError):
                    dtype = None
        if dtype is None:
            raise ShapeError(f"no such dtype: {value!r}; expected one of {', '.join(sorted(_BY_NAME))}")
        return dtype


_ML_DTYPES = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
    "int2": "int2",
    "int4": "int4",
    "uint2": "uint2",
    "uint4": "uint4",
}


def _bits(dtype: DType) -> int:
    name = dtype.value
    if name in ("bool", "string"):
        return 8 if name == "bool" else 0
    if name.startswith("float8"):
        return 8
    if name.startswith("float4"):
        return 4
    return int("".join(character for character in name if character.isdigit()))


_BITS = {dtype: _bits(dtype) for dtype in DType}
_BY_NAME = {dtype.value: dtype for dtype in DType} | {
    "object": DType.STRING,
    "str": DType.STRING,
    **{ml_name: DType(name) for name, ml_name in _ML_DTYPES.items()},
}


@record
class TensorType:
    """A dense tensor: its element type (None: unknown) and shape (None: unknown rank).

    In a shape names become symbolic sizes and None an unknown one. Raises ShapeError for what is no size.

    >>> str(TensorType(DType.FLOAT32, ("N", 8, None)))
    'float32[N, 8, ?]'
    """

    dtype: DType | None = None
    shape: Shape | None = None

    def __init__(self, dtype: DType | None = None, shape: Sequence[Dim | str | None] | None = None) -> None:
        fields = self.__dict__
        if shape is not None and not (type(shape) is tuple and DIMENSIONS.issuperset(map(type, shape))):
            shape = dimensions(shape)
        fields["dtype"] = dtype
        fields["shape"] = shape

    def __str__(self) -> str:
        return f"{self.dtype or '?'}{format_shape(self.shape)}"

    @property
    def rank(self) -> int | None:
        """The number of axes, None if unknown."""
        return None if self.shape is None else len(self.shape)

    def __eq__(self, other: object) -> bool:
        if type(other) is not TensorType:
            return NotImplemented
        return self.dtype is other.dtype and self.shape == other.shape

    def __hash__(self) -> int:
        stored: int | None = self.__dict__.get("_hash")
        if stored is None:
            stored = hash((self.dtype, self.shape))
            object.__setattr__(self, "_hash", stored)
        return stored

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorType, (self.dtype, self.shape)

    @property
    def is_static(self) -> bool:
        """Whether the dtype and every dimension are known numbers."""
        stored: bool | None = self.__dict__.get("_static")
        if stored is None:
            shape = self.shape
            stored = self.dtype is not None and shape is not None and all(type(dim) is int for dim in shape)
            object.__setattr__(self, "_static", stored)
        return stored

    def elements(self) -> Dim:
        """Return the number of elements: a product of dimensions, `UNKNOWN` if the rank is."""
        return UNKNOWN if self.shape is None else product(self.shape)


@record
class SparseTensorType:
    """A sparse tensor: the dtype of its values and its dense shape, as of a `TensorType`."""

    dtype: DType | None = None
    shape: Shape | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", TensorType(self.dtype, self.shape).shape)

    def __str__(self) -> str:
        return f"sparse {self.dtype or '?'}{format_shape(self.shape)}"


@record
class SequenceType:
    """A sequence of values that all have the type `element`."""

    element: Type

    def __str__(self) -> str:
        return f"sequence({self.element})"


@record
class OptionalType:
    """A value of type `element`, or nothing."""

    element: Type

    def __str__(self) -> str:
        return f"optional({self.element})"


@record
class MapType:
    """A mapping from integers or texts, of the dtype `key`, to values that all have the type `element`: what
    classifiers give, the probabilities of each class."""

    key: DType
    element: Type

    def __str__(self) -> str:
        return f"map({self.key}, {self.element})"


Type = Union[TensorType, SparseTensorType, SequenceType, OptionalType, MapType]
TYPES = (TensorType, SparseTensorType, SequenceType, OptionalType, MapType)
ANYTHING = TensorType()


def format_shape(shape: Shape | None) -> str:
    """Return a shape as people write it.

    >>> format_shape((1, symbol("N"), UNKNOWN)), format_shape(None), format_shape(())
    ('[1, N, ?]', '[...]', '[]')
    """
    return "[...]" if shape is None else f"[{', '.join(str(dim) for dim in shape)}]"


def parse_shape(text: str) -> Shape:
    """Return the shape that `format_shape` wrote, brackets optional: `1,3,H,W`, `[N, ?]`. Raises ValueError.

    >>> parse_shape("(H+1)//2, max(H,W)") == ((symbol("H") + 1) // 2, dim_max(symbol("H"), symbol("W")))
    True
    """
    parts, depth = [""], 0
    for character in _without_brackets(text.strip()):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if not parts[-1].strip():
        parts.pop()
    return tuple(map(parse_dim, parts))


def _without_brackets(text: str) -> str:
    """Return the text inside the brackets, if one pair is around all of it."""
    if not text.startswith(("[", "(")):
        return text
    depth = 0
    for index, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth == 0:
            whole = index == len(text) - 1 and text[0] + text[-1] in ("[]", "()")
            return text[1:-1] if whole else text
    return text


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of dimensions, 1 if there are none."""
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def unify_dim(left: Dim, right: Dim) -> Dim:
    """Return what is known when both dimensions describe the same axis. Raises ShapeError if they contradict each
    other.

    A number wins over an expression and an expression over the unknown; of two different expressions the first stays.
    """
    if left == right or isinstance(right, Unknown):
        return left
    if isinstance(left, Unknown):
        return right
    if isinstance(left, Sym):
        return right if isinstance(right, int) else left
    if isinstance(right, Sym):
        return left
    raise ShapeError(f"{left} and {right} differ")


def unify_shape(left: Shape | None, right: Shape | None) -> Shape | None:
    """Return what is known when both shapes describe the same tensor. Raises ShapeError that shows both."""
    if left is right or right is None:
        return left
    if left is None:
        return right
    if left == right:
        return left
    if len(left) != len(right):
        raise ShapeError(f"{format_shape(left)} and {format_shape(right)} differ in rank")
    try:
        return tuple(map(unify_dim, left, right))
    except ShapeError as error:
        raise ShapeError(f"{format_shape(left)} and {format_shape(right)} contradict each other: {error}") from None


def unify_dtype(left: DType | None, right: DType | None) -> DType | None:
    """Return the dtype that both are. Raises ShapeError if they differ."""
    if left is right or right is None:
        return left
    if left is None:
        return right
    raise ShapeError(f"dtypes {left} and {right} differ")


def unify(left: Type, right: Type) -> Type:
    """Return what is known when both types describe the same value. Raises ShapeError if they contradict each other."""
    if left is right or left == right:
        return left
    if isinstance(left, TensorType) and isinstance(right, TensorType):
        dtype, shape = unify_dtype(left.dtype, right.dtype), unify_shape(left.shape, right.shape)
        for type_ in (left, right):  # a type that many values have stays one object
            if dtype is type_.dtype and shape is type_.shape:
                return type_
        return TensorType(dtype, shape)
    if left == ANYTHING or right == ANYTHING:
        return right if left == ANYTHING else left
    if type(left) is not type(right):
        raise ShapeError(f"{left} and {right} are of different kinds")
    if isinstance(left, SparseTensorType) and isinstance(right, SparseTensorType):
        return SparseTensorType(unify_dtype(left.dtype, right.dtype), unify_shape(left.shape, right.shape))
    if isinstance(left, MapType) and isinstance(right, MapType) and left.key is not right.key:
        raise ShapeError(f"{left} and {right} have other keys")
    assert isinstance(left, SequenceType | OptionalType | MapType)
    assert isinstance(right, SequenceType | OptionalType | MapType)
    return replace(left, element=unify(left.element, right.element))

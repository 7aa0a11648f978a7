"""ONNX's types and dimensions as the IR's."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

from graphir.converters.onnx.dtypes import BY_CODE
from graphir.errors import FormatError
from graphir.types import (
    ANYTHING,
    UNKNOWN,
    Dim,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    Sym,
    TensorType,
    Type,
    parse_dim,
    symbol,
)


def believable(inferred: Type, stated: Type, symbols: Set[str]) -> Type:
    """Return the stated type without the sizes that the operators refute.

    A number is refuted where a size follows from the inputs, all of whose names are among `symbols`, or by another
    number; all of them are by another rank.
    """
    if not isinstance(inferred, TensorType) or not isinstance(stated, TensorType):
        return stated
    left, right = inferred.shape, stated.shape
    if left is None or right is None or left == right:
        return stated
    if len(left) != len(right):
        return TensorType(stated.dtype, None)
    shape = tuple(map(lambda dim, other: _keep_dim(dim, other, symbols), left, right))
    return stated if shape == right else TensorType(stated.dtype, shape)


def _keep_dim(dim: Dim, stated: Dim, symbols: Set[str]) -> Dim:
    if isinstance(dim, Sym) and isinstance(stated, int) and dim.symbols() <= symbols:
        return UNKNOWN
    if isinstance(dim, int) and isinstance(stated, int) and dim != stated:
        return UNKNOWN
    return stated


class TypeReader:
    """Types of one model. `renamed` maps the symbols whose names ONNX allows and the IR does not to the originals.

    `expressions` says that the names of dimensions are the IR's own notation, as in a model that graphir wrote.
    """

    def __init__(self, *, expressions: bool = False) -> None:
        self.renamed: dict[str, str] = {}
        self._symbols: dict[str, Dim] = {}
        self._taken: set[str] = set()
        self._expressions = expressions

    def type_of(self, proto: Any) -> Type:
        """Return the type of a TypeProto; one that states nothing is `ANYTHING`. Raises FormatError."""
        kind = proto.WhichOneof("value")
        if kind is None:
            return ANYTHING
        tensor_proto = getattr(proto, kind)
        if kind == "tensor_type":
            return TensorType(self._dtype(tensor_proto), self._shape(tensor_proto))
        if kind == "sparse_tensor_type":
            return SparseTensorType(self._dtype(tensor_proto), self._shape(tensor_proto))
        if kind == "sequence_type":
            return SequenceType(self.type_of(tensor_proto.elem_type))
        if kind == "optional_type":
            return OptionalType(self.type_of(tensor_proto.elem_type))
        if kind == "map_type" and tensor_proto.key_type in BY_CODE:
            return MapType(BY_CODE[tensor_proto.key_type], self.type_of(tensor_proto.value_type))
        raise FormatError(f"values of ONNX's {kind} are not supported")

    def _dtype(self, proto: Any) -> Any:
        if proto.elem_type and proto.elem_type not in BY_CODE:
            raise FormatError(f"unknown element type {proto.elem_type}")
        return BY_CODE.get(proto.elem_type)

    def _shape(self, proto: Any) -> Shape | None:
        if not proto.HasField("shape"):
            return None
        return tuple([self._dim(dim) for dim in proto.shape.dim])

    def _dim(self, proto: Any) -> Dim:
        kind = proto.WhichOneof("value")
        if kind == "dim_value":
            return UNKNOWN if proto.dim_value < 0 else int(proto.dim_value)
        if kind is None or not proto.dim_param.strip():
            return UNKNOWN
        return self.named(proto.dim_param)

    def named(self, name: str) -> Dim:
        """Return the dimension of this name; odd names become identifiers, the same each time."""
        symbol = self._symbols.get(name)
        if symbol is None:
            symbol = self._symbols[name] = self._make(name)
        return symbol

    def _make(self, name: str) -> Dim:
        if self._expressions:
            try:
                return parse_dim(name)
            except ValueError:
                pass  # not the IR's notation after all: a name like any other
        clean = name
        if not (name.isascii() and name.isidentifier()):
            clean = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "dim"
            clean = f"_{clean}" if clean[0].isdigit() else clean
        wanted, number = clean, 1
        while clean in self._taken:
            clean, number = f"{wanted}_{number}", number + 1
        self._taken.add(clean)
        if clean != name:
            self.renamed[clean] = name
        return symbol(clean)

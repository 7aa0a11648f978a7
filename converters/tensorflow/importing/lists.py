"""TensorFlow's lists of tensors (TensorList, and TensorArray, which `tensor_arrays` brings to it).

A list is the tensor of its elements, stacked along a first axis. One whose elements have no shape yet, because none was
written, is `Reserved`: a loop that writes it gives it one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphir.ops.base import Known
from graphir.ops.creation import ConstantOfShape
from graphir.ops.shape import Shape
from graphir.ops.shape_parts import Concat
from graphir.types import Dim, DType, Sym

if TYPE_CHECKING:
    from graphir.converters.tensorflow.importing.context import ImportNode
    from graphir.graph import Value

ElementShape = tuple[int | None, ...] | None


@dataclass(frozen=True)
class Reserved:
    """A list of `length` elements (an int64 value of one element), all of them zeros of a shape that may be unknown."""

    length: Value
    dtype: DType
    shape: ElementShape

    @property
    def size(self) -> Dim | None:
        """Return how many elements it has, if that is known or symbolic."""
        return number_of(self.length)


def number_of(value: Value) -> Dim | None:
    """Return the only element of a value, as a number or symbol."""
    known = value.known
    if known is None or len(known.elements) != 1:
        return None
    (element,) = known.elements
    return element if isinstance(element, int | Sym) else None


def element_shape(node: ImportNode, slot: int) -> ElementShape:
    """Return what an operand says of the elements' shape: None for nothing, None on an axis for any size."""
    value = node.input(slot)
    known: Known | None = value.known
    if known is None or value.rank == 0:
        return None
    return tuple(size if isinstance(size, int) and size >= 0 else None for size in known.elements)


def elements_of(node: ImportNode, value: Value, like: Value | None = None) -> Value:
    """Return the list as the tensor of its elements. One that is reserved gets zeros, in the shape of `like` if that is
    given.

    Refuses a reserved list whose elements' shape nothing tells.
    """
    reservation = node.importer.reserved.get(value)
    if reservation is None:
        return value
    if like is not None:
        sizes = node.step(Concat(0), vector_of(node, reservation.length), node.step(Shape(), like), suffix="list_shape")
    elif reservation.shape is not None and None not in reservation.shape:
        rest = node.vector([size for size in reservation.shape if size is not None])
        sizes = node.step(Concat(0), vector_of(node, reservation.length), rest, suffix="list_shape")
    else:
        node.refuse("a list that is used before anything was written, whose elements' shape is not known")
    return node.step(ConstantOfShape(0.0, reservation.dtype), sizes, suffix="list")


def vector_of(node: ImportNode, value: Value) -> Value:
    """Return an integer scalar as an int64 vector of one element."""
    from graphir.ops.shape import Reshape

    known = value.integers
    if known is not None and len(known) == 1:
        return node.vector(known)
    return node.step(Reshape(), node.int64(value), node.vector([1]), suffix="vector")

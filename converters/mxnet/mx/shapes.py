"""`Symbol.infer_shape`: shapes of arguments, outputs and states from some of them, by the graph's own inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.converters.mxnet.records import NNVMGraph
from graphir.converters.mxnet.symbol_types import infer_symbol
from graphir.types import ANYTHING, TensorType

Shape = tuple[int, ...]
Shapes = tuple[list[Shape], list[Shape], list[Shape]]


def infer_shapes(
    records: NNVMGraph, arguments: Sequence[str], states: Sequence[str], given: Mapping[str, object]
) -> Shapes:
    """What is known of every argument, output and state: () where the number of axes is not, 0 for an open size.

    In what is given 0, -1 and None leave a size open, and () a shape. Raises TypeError for what is no shape, and
    GraphirError for names that are no variables and for shapes that contradict each other.
    """
    for name, shape in given.items():
        if not isinstance(shape, tuple | list) or not all(size is None or isinstance(size, int) for size in shape):
            raise TypeError(f"the shape of {name} is {shape!r}, expected a tuple of sizes")
    shapes = {name: tuple(shape) for name, shape in given.items() if isinstance(shape, tuple | list)}
    types = infer_symbol(records, shapes, np_shape=False)
    known = types.arguments | types.auxiliary
    rows = [[_plain(known.get(name, ANYTHING)) for name in names] for names in (arguments, states)]
    return rows[0], [_plain(type_) for type_ in types.outputs], rows[1]


def is_complete(shapes: Shapes) -> bool:
    """Whether every shape is there and no size open."""
    return all(shape and 0 not in shape for group in shapes for shape in group)


def _plain(type_: TensorType) -> Shape:
    if type_.shape is None:
        return ()
    return tuple(size if isinstance(size, int) else 0 for size in type_.shape)


__all__ = ["Shapes", "infer_shapes", "is_complete"]

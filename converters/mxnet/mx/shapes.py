"""`Symbol.infer_shape` and `infer_type`: what arguments, outputs and states are, from some of them, by the graph's own
inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.converters.mxnet.importing.symbol_types import SymbolTypes, infer_symbol
from graphir.errors import ShapeError
from graphir.types import ANYTHING, DType, TensorType

Shape = tuple[int, ...]
Shapes = tuple[list[Shape], list[Shape], list[Shape]]
Types = tuple[list[type | None], list[type | None], list[type | None]]


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


def infer_types(
    records: NNVMGraph, arguments: Sequence[str], states: Sequence[str], given: Mapping[str, object]
) -> Types:
    """The class that numpy has for the dtype of every argument, output and state, None where it is not known.

    Raises TypeError for what is no dtype, and GraphirError for names that are no variables and for dtypes that
    contradict each other.
    """
    dtypes = {name: _dtype(name, dtype) for name, dtype in given.items() if dtype is not None}
    # an input for which nothing states a dtype gets one for inference: what depends on it is not known
    assumed = [
        infer_symbol(records, None, dtypes, np_shape=False, assumed=dtype) for dtype in (DType.FLOAT32, DType.FLOAT64)
    ]
    groups = zip(*(_classes(types, arguments, states) for types in assumed), strict=True)
    found = [[one if one == other else None for one, other in zip(*group, strict=True)] for group in groups]
    return found[0], found[1], found[2]


def _classes(types: SymbolTypes, arguments: Sequence[str], states: Sequence[str]) -> Types:
    known = types.arguments | types.auxiliary
    rows = [[_class(known.get(name, ANYTHING)) for name in names] for names in (arguments, states)]
    return rows[0], [_class(type_) for type_ in types.outputs], rows[1]


def _dtype(name: str, stated: object) -> DType:
    try:
        return DType.of(stated)
    except ShapeError as error:
        raise TypeError(f"the dtype of {name}: {error}") from error


def _class(type_: TensorType) -> type | None:
    return None if type_.dtype is None else type_.dtype.numpy().type


def _plain(type_: TensorType) -> Shape:
    if type_.shape is None:
        return ()
    return tuple(size if isinstance(size, int) else 0 for size in type_.shape)


__all__ = ["Shapes", "Types", "infer_shapes", "infer_types", "is_complete"]

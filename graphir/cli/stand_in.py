"""What `graphir check` makes up where a model comes without parameters: their elements, and sizes they depend on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .input_spec import InputSpec
from .model import open_model

if TYPE_CHECKING:
    from graphir.converters.formats import Source
    from graphir.graph import Graph, Value
    from graphir.tensor import Tensor
    from graphir.types import DType

    from .console import Console

CHANNELS, SIZE = 3, 224
# For an input of which not even the number of axes is known, the most common first.
GUESSES: tuple[tuple[Any, ...], ...] = (("N", CHANNELS, SIZE, SIZE), ("N", SIZE), ("N", CHANNELS, SIZE))


def with_sizes(options: argparse.Namespace, console: Console, reading: Source) -> tuple[Source, dict[str, str]]:
    """The model read with sizes for inputs that its parameters need and nothing states, and these inputs' types by
    name; as it was where the sizes do not fit it."""
    from graphir.errors import GraphirError

    if not open_parameters(reading.graph) and all(value.shape is not None for value in reading.graph.inputs):
        return reading, {}
    for made_up in _attempts(reading.graph):
        given = {spec.name for spec in options.inputs}
        more = [spec for spec in made_up if spec.name not in given]
        try:
            found = open_model(argparse.Namespace(**{**vars(options), "inputs": [*options.inputs, *more]}), console)
        except GraphirError:
            continue  # these sizes do not fit the model; what is wrong with them says nothing about the model
        if not open_parameters(found.graph):
            return found, {spec.name: str(found.graph[spec.name].type) for spec in more if spec.name in found.graph}
    return reading, {}


def open_parameters(graph: Graph) -> list[Value]:
    """The parameters that have no elements and an open size."""
    return [value for value in graph.parameters if value.tensor is None and not _is_closed(value)]


def _is_closed(value: Value) -> bool:
    return value.shape is not None and all(isinstance(dim, int) for dim in value.shape)


def _attempts(graph: Graph) -> Iterator[list[InputSpec]]:
    from graphir.types import Sym, symbol

    wanted = {
        name
        for value in open_parameters(graph)
        for dim in value.shape or ()
        if isinstance(dim, Sym)
        for name in dim.symbols()
    }
    for guess in GUESSES:
        made_up = []
        for value in graph.inputs:
            if value.shape is None:
                shape = tuple(symbol(dim) if isinstance(dim, str) else dim for dim in guess)
                made_up.append(InputSpec(value.name, shape, None))
            elif any(isinstance(dim, Sym) and dim.symbols() & wanted for dim in value.shape):
                made_up.append(InputSpec(value.name, _closed(value.shape, wanted), None))
        yield made_up
        if all(value.shape is not None for value in graph.inputs):
            return


def _closed(shape: tuple[Any, ...], wanted: set[str]) -> tuple[Any, ...]:
    from graphir.types import Sym

    sizes = []
    for axis, dim in enumerate(shape):
        is_open = isinstance(dim, Sym) and bool(dim.symbols() & wanted)
        sizes.append((CHANNELS if axis == 1 and len(shape) > 2 else SIZE) if is_open else dim)
    return tuple(sizes)


def stand_in(graph: Graph) -> None:
    """Give parameters of known shape that have no elements zeros, which nobody computes unless an exporter asks."""
    from graphir.types import DType

    for value in graph.parameters:
        if value.tensor is None and _is_closed(value):
            assert value.shape is not None
            graph.set_tensor(value, zeros(value.dtype or DType.FLOAT32, value.shape))


def zeros(dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """A tensor of zeros that holds none of them."""
    import numpy as np

    from graphir.tensor import Tensor

    return Tensor.computed(dtype, shape, lambda: np.zeros(shape, dtype.numpy()))


__all__ = ["open_parameters", "stand_in", "with_sizes", "zeros"]

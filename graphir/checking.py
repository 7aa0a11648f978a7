"""`graphir.check`: everything that stands between a model and a target, at once. Nothing is written.

Parameters are not needed: where sizes depend on them, sizes are made up, and the report says which.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphir.analysis.examples import example_shape
from graphir.analysis.memory.inference import example_of
from graphir.converters.formats import Source
from graphir.converters.options import ModelOptions
from graphir.converters.table import FORMATS
from graphir.converters.writing import example, make_ready, target_of
from graphir.errors import ArgumentError, GraphirError, ImportFailure, UnsupportedOpError
from graphir.graph import Graph, Value
from graphir.inspection import opened
from graphir.report.gaps import CheckReport
from graphir.runtime.fallbacks import Fallbacks, find_fallbacks
from graphir.safety.arguments import expect
from graphir.safety.isolation import Caps, run_isolated, step
from graphir.safety.limits import Stated, bounded
from graphir.tensor import Tensor
from graphir.types import DType, Sym, symbol

Shape = tuple[Any, ...]
Opening = Callable[[Mapping[str, Shape]], Source]
CHANNELS, SIZE = 3, 224
START_SECONDS = 600.0  # TensorRT builds the engines of a large network for minutes
# For an input of which not even the number of axes is known, behind what its readers want, the most common first.
GUESSES: tuple[Shape, ...] = (("N", CHANNELS, SIZE, SIZE), ("N", SIZE), ("N", CHANNELS, SIZE))


@bounded
def check(
    model: Graph | str | os.PathLike[str],
    *,
    target: str = "onnx",
    opset: int | None = None,
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    format: str | None = None,
    provider: str | None = None,
    limits: Stated = None,
) -> CheckReport:
    """Return what keeps a model from becoming a file of the target's format: every operator at once, with its nodes.

    `target` is `onnx`, `mxnet` or `graphir`; `opset` is as for `graphir.convert`, the others as for
    `graphir.load`. With `provider`, as in `cuda:1`, onnxruntime starts what would be written, and `fallbacks` are the
    nodes that run elsewhere, with its reasons. The report is true if nothing does.
    Raises what `load` and `save` raise but UnsupportedOpError.
    """
    expect(model, (Graph, str, os.PathLike), "the model", "a Graph or the path of a model")
    stated = {"opset": opset}
    given = dict(shapes or {})

    def open_with(more: Mapping[str, Shape]) -> Source:
        wanted = {**more, **given}
        if isinstance(model, Graph):  # as it is: what is checked is changed
            return opened(model.copy(), ModelOptions(shapes=wanted))
        return opened(model, ModelOptions(params, wanted or None, format=format))

    name = model.name if isinstance(model, Graph) else os.fspath(model)
    named = {key: value for key, value in stated.items() if value is not None}
    return checked(name, open_with, given, target, named, provider)


def checked(
    name: str,
    open_with: Opening,
    given: Mapping[str, object],
    target: str,
    options: Mapping[str, Any],
    provider: str | None = None,
) -> CheckReport:
    """Return the check of a model that `open_with` opens, with more shapes of inputs than those that are `given`.
    Raises what reading and writing it raise, but for operators that are not supported; ArgumentError for a `provider`
    and a target that onnxruntime does not run."""
    named_options = target_of(target).named(options)
    if provider is not None and not FORMATS[target].runs:
        raise ArgumentError(f"--provider starts onnxruntime, which runs no {FORMATS[target].brand}; leave it out")
    step, made_up = "reading", dict[str, str]()
    wanted: list[str] = []
    try:
        stated = open_with({})
        wanted = [f"-i {value.name}:{example_shape(value)}" for value in stated.graph.inputs if value.shape is None]
        reading, made_up = _read_with_sizes(stated, open_with, given)
        _need_sizes(reading.graph)
        step = "writing"
        _fill_parameters(reading.graph)
        ready = make_ready(reading.graph, example(target), target, options)
    except UnsupportedOpError as error:
        return CheckReport(
            name, target, named_options, options.get("opset"), error.gaps, step, made_up, problems=error.problems
        )
    needs = wanted if FORMATS[target].runs else []
    fallbacks = _fallbacks(reading, target, options, provider) if provider is not None else None
    return CheckReport(name, target, named_options, ready.opset, (), "", made_up, reading, ready, (), needs, fallbacks)


def _fallbacks(reading: Source, target: str, options: Mapping[str, Any], provider: str) -> Fallbacks:
    """Return which nodes the provider does not run of the model as it would be written; of a file that onnxruntime runs
    as it is, of that file."""

    def start() -> Fallbacks:
        with tempfile.TemporaryDirectory(prefix="graphir-") as folder:
            model = None if options else reading.runnable
            if model is None or reading.format != target:
                model, *_ = make_ready(reading.graph, Path(folder) / example(target), target, options).write()
            with step("the start of the model"):
                return find_fallbacks(model, provider)

    return run_isolated(start, Caps(START_SECONDS))


def _read_with_sizes(reading: Source, open_with: Opening, given: Mapping[str, object]) -> tuple[Source, dict[str, str]]:
    """Return the model read with sizes for inputs that its parameters need and nothing states, and these inputs' types
    by name; `reading`, as it was, where the sizes do not fit it."""
    if not open_parameters(reading.graph) and all(value.shape is not None for value in reading.graph.inputs):
        return reading, {}
    for made_up in _guess_sizes(reading.graph):
        more = {name: shape for name, shape in made_up.items() if name not in given}
        try:
            model = open_with(more)
        except GraphirError:
            continue  # these sizes do not fit the model; what is wrong with them says nothing about the model
        if not open_parameters(model.graph):
            return model, {name: str(model.graph[name].type) for name in more if name in model.graph}
    return reading, {}


def open_parameters(graph: Graph) -> list[Value]:
    """Return the parameters that have no elements and an open size."""
    return [value for value in graph.parameters if value.tensor is None and not _is_closed(value)]


def _is_closed(value: Value) -> bool:
    return value.shape is not None and all(isinstance(dim, int) for dim in value.shape)


def _guess_sizes(graph: Graph) -> Iterator[dict[str, Shape]]:
    wanted = {
        name
        for value in open_parameters(graph)
        for dim in value.shape or ()
        if isinstance(dim, Sym)
        for name in dim.symbols()
    }
    for guess in (None, *GUESSES):
        made_up: dict[str, Shape] = {}
        for value in graph.inputs:
            if value.shape is None:
                sizes = _batch_shape(example_shape(value)) if guess is None else guess
                made_up[value.name] = tuple(symbol(dim) if isinstance(dim, str) else dim for dim in sizes)
            elif any(isinstance(dim, Sym) and dim.symbols() & wanted for dim in value.shape):
                made_up[value.name] = _close_shape(value.shape, wanted)
        yield made_up
        if all(value.shape is not None for value in graph.inputs):
            return


def _batch_shape(example: str) -> Shape:
    """Return the sizes of an example, a batch of one left open."""
    first, *rest = map(int, example.split(","))
    return ("N" if rest and first == 1 else first, *rest)


def _close_shape(shape: tuple[Any, ...], wanted: set[str]) -> tuple[Any, ...]:
    sizes = []
    for axis, dim in enumerate(shape):
        is_open = isinstance(dim, Sym) and bool(dim.symbols() & wanted)
        sizes.append((CHANNELS if axis == 1 and len(shape) > 2 else SIZE) if is_open else dim)
    return tuple(sizes)


def _need_sizes(graph: Graph) -> None:
    """Raise ImportFailure for parameters that have an open size still: the shapes of inputs are what is missing."""
    missing = open_parameters(graph)
    if missing:
        examples = " ".join(f"-i {example_of(value.name, value.shape)}" for value in graph.inputs[:5])
        lines = "\n  ".join(f"{value.name} {value.type}" for value in missing)
        raise ImportFailure(
            f"the sizes of {len(missing)} parameter(s) follow from nothing; give the shapes of the inputs, as in "
            f"{examples or '-i NAME:SIZES'}:\n  {lines}"
        )


def _fill_parameters(graph: Graph) -> None:
    """Give parameters of known shape that have no elements zeros, which nobody computes unless an exporter asks."""
    for value in graph.parameters:
        if value.tensor is None and _is_closed(value):
            assert value.shape is not None
            graph.set_tensor(value, zeros(value.dtype or DType.FLOAT32, value.shape))


def zeros(dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor of zeros that holds none of them."""
    return Tensor.computed(dtype, shape, lambda: np.zeros(shape, dtype.numpy()))

"""Inference over a whole graph: what to store in it, what to tell of it, and what stays unknown."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from graphir.errors import ShapeError
from graphir.node import set_type
from graphir.safety.arguments import expect
from graphir.structure.store import GraphStore
from graphir.types import SequenceType, TensorType, Type, Unknown

from .fixpoint import Inference as Inference
from .given import given_types
from .given import parse_dims as parse_dims

if TYPE_CHECKING:
    from graphir.graph import Graph, Value


def infer_graph(graph: Graph) -> bool:
    """Run inference on what the graph knows and store the result in it; True if anything changed. Raises ShapeError."""
    run = Inference(graph, stored=True)
    run.run()
    changed = False
    for value, type_ in run.types.items():
        if value.type != type_:
            set_type(value, type_)
            changed = True
        known = run.known.get(value)
        if value.known != known and (known is not None or value.graph is not graph):
            value.known = known
            changed = True
    return changed


def fix_types(graph: Graph, shapes: Mapping[str, object] | None, dtypes: Mapping[str, object] | None) -> None:
    """Give values shapes and dtypes for good, in place of those that earlier inference stored, and infer the others.

    What is given is as if the source had declared it. Raises as `infer_types` does, and then changes nothing.
    """
    run = infer(graph, shapes, dtypes)
    for value, type_ in run.given.items():
        value.declared = type_
    for value, type_ in run.types.items():
        set_type(value, type_)
        value.known = run.known[value]


def infer_types(
    graph: Graph,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
    *,
    partial: bool = True,
) -> dict[str, Type]:
    """Return the type of every value, by name, given shapes and dtypes for some of them; the graph stays as it is.

    A shape is a sequence of integers, names of symbolic sizes or None (unknown), or text such as `1,3,H,W`; a dtype
    anything that `DType.of` takes. Hints flow both ways: of a parameter to the data, of a result to what it is made
    from. Raises GraphError for a name that the graph does not have and ShapeError, naming both sides, for a
    contradiction, and without `partial` also for whatever stays unknown, all of it at once (a symbolic size is known).
    Weights are not read. Cost: linear in nodes.
    """
    run = infer(graph, shapes, dtypes)
    if not partial:
        require_all(graph, run.types)
    return {value.name: run.types[value] for value in graph.values}


def infer(
    graph: Graph, shapes: Mapping[str, object] | None = None, dtypes: Mapping[str, object] | None = None
) -> Inference:
    """Return `infer_types` as the run itself, whose `types` and `known` hold the values of subgraphs too."""
    expect(graph, GraphStore, "the graph", "a Graph")
    given = given_types(graph, shapes, dtypes)
    if not dtypes:
        # Without hints what was assumed for the inputs' dtypes mostly stands: assuming it at once saves a second round.
        with suppress(ShapeError):
            run = Inference(graph, given, stored=False)
            run.assume_dtypes()
            run.run()
            return run
    run = Inference(graph, given, stored=False)
    run.run()
    run.assume_dtypes()
    run.finish()
    return run


def is_complete(type_: Type) -> bool:
    """Return whether the dtype, the rank and every size are known, as numbers or symbols."""
    if isinstance(type_, TensorType):
        if type_.is_static:
            return True
        open_shape = type_.shape is None or any(isinstance(dim, Unknown) for dim in type_.shape)
        return type_.dtype is not None and not open_shape
    return is_complete(type_.element) if isinstance(type_, SequenceType) else True


def require_all(graph: Graph, types: Mapping[Value, Type] | None = None) -> None:
    """Raise ShapeError with every value whose type (the stored one, without `types`) is not fully known.

    Values of subgraphs, which may differ from one iteration to the next, do not count.
    """
    values = list(graph.values)
    types = {value: value.type for value in values} if types is None else types
    unknown = [value for value in values if not is_complete(types[value])]
    if not unknown:
        return
    shown = [f"{value.name}: {types[value]}{_by(value)}" for value in unknown]
    open_inputs = [value.name for value in graph.inputs if value in set(unknown)]
    hint = f"; give what is missing of {', '.join(open_inputs)}" if open_inputs else ""
    raise ShapeError(
        f"{len(unknown)} of {len(values)} values are not fully known{hint}:\n  " + "\n  ".join(shown)
    )


def _by(value: Value) -> str:
    node = value.producer
    if node is None:
        return " (parameter)" if value.is_parameter else " (input)"
    return f" by node {node.name} ({node.op.name})"

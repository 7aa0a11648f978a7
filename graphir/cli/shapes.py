"""`graphir shapes`: the type of every value of a model, and why it is that."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .model import first_line, open_model
from .options import (
    SOURCE_HELP,
    add_model_options,
    add_other_options,
    add_output_options,
    dtypes_of,
    other_options,
    shapes_of,
)

if TYPE_CHECKING:
    from graphir.graph import Graph, Value
    from graphir.types import Type

    from .console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = "Parameters are not needed: their shapes follow from the inputs', or the inputs' from theirs."
    parser.add_argument(
        "source", metavar="MODEL", help=SOURCE_HELP
    )
    parser.add_argument(
        "other", metavar="OTHER", nargs="?", help="a model to hold against it, layer by layer; 4 if shapes differ"
    )
    add_model_options(parser)
    add_other_options(parser)
    parser.add_argument(
        "--explain",
        metavar="VALUE",
        help="only this value: the rules and operands that fixed each of its sizes and its dtype, back to what the "
        "model declares; a value inside a subgraph is named as the table names it",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="MXNet models: show only what follows, as infer_shape_partial does; by default open sizes of inputs get "
        "names, and those that the weights bind get the smallest number that fits",
    )
    parser.add_argument(
        "--full", action="store_true", help="fail, listing every value, if a dtype, a rank or a size stays unknown"
    )
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one line a value, or the explanation of one."""
    from graphir.inference.engine import require_all

    model = open_model(options, console, simplified=False, settled=not options.partial)
    graph = model.graph
    if options.full:
        require_all(graph)
    if options.explain is not None:
        return _explain(options, graph, console)
    if options.other is not None:
        return _compare(options, graph, first_line(model), console)
    from graphir.report.text import table

    rows = values(graph)
    counts = count_known(graph)
    console.data({"source": options.source, "values": rows, "summary": counts})
    console.show(
        first_line(model)
        + "\n\n"
        + table(
            ("value", "type", "by", "of"),
            [(row["name"], row["type"], row["operator"] or row["role"], ", ".join(row["inputs"])) for row in rows],
        )
        + f"\n\n{describe_counts(counts)}"
    )
    return 0


def _explain(options: argparse.Namespace, graph: Graph, console: Console) -> int:
    from graphir.inference.explain import explain

    names = {value.name for value in graph.values}
    shapes = {name: shape for name, shape in (shapes_of(options) or {}).items() if name in names}
    dtypes = {name: dtype for name, dtype in (dtypes_of(options) or {}).items() if name in names}
    found = explain(graph, options.explain, shapes, dtypes)
    console.data({"source": options.source, **found.to_json()})
    console.show(str(found))
    return 0


def _compare(options: argparse.Namespace, graph: Graph, line: str, console: Console) -> int:
    from graphir.analysis.shape_comparison import compare_shapes
    from graphir.report.shapes import agree, shapes_json, shapes_text

    other = open_model(other_options(options), console, simplified=False, settled=not options.partial)
    console.stage("aligning the models")
    pairs = compare_shapes(graph, other.graph)
    console.data({"first": options.source, "second": options.other, **shapes_json(pairs)})
    console.show(shapes_text(pairs, line, first_line(other), verbose=options.verbose > 0))
    return 0 if agree(pairs) else 4


def values(graph: Graph) -> list[dict[str, Any]]:
    """Inputs, parameters that came with the model, and results, in this order; shapes with None for unknown sizes.

    The values of a subgraph follow its node, their names behind the node's.
    """
    outputs = set(graph.outputs)
    parameters = set(graph.parameters)
    shown = [*graph.inputs, *(value for value in graph.parameters if value.sources or value in outputs)]
    return [*(_row(value, "", value in parameters, value in outputs) for value in shown), *_results(graph, "")]


def _results(graph: Graph, around: str) -> Iterator[dict[str, Any]]:
    from graphir.analysis.summary import visible_outputs
    from graphir.inference.explain import subgraph_path

    outputs = set(graph.outputs)
    for node in graph.nodes:
        yield from (_row(value, around, False, value in outputs) for value in visible_outputs(node))
        for place, inner in enumerate(node.subgraphs):
            path = f"{around}{subgraph_path(node, place)}"
            yield from (_row(value, path, False, False) for value in inner.inputs)
            yield from _results(inner, path)


def _row(value: Value, around: str, is_parameter: bool, is_output: bool) -> dict[str, Any]:
    node = value.producer
    role = "parameter" if is_parameter else "input" if node is None else "output" if is_output else "inner"
    shape = None
    if value.shape is not None:
        shape = [dim if isinstance(dim, int) else None if str(dim) == "?" else str(dim) for dim in value.shape]
    return {
        "name": f"{around}{value.name}",
        "role": role,
        "type": str(value.type),
        "dtype": None if value.dtype is None else value.dtype.value,
        "shape": shape,
        "operator": None if node is None else node.op.name,
        "node": None if node is None else node.name,
        "inputs": [] if node is None else [used.name for used in node.inputs if used is not None],
        "sources": list(value.sources),
    }


def count_known(graph: Graph) -> dict[str, int]:
    """How many values, those of subgraphs included, are known in numbers, in symbols, and not wholly known."""
    from graphir.inference.explain import all_values

    counts = {"values": 0, "known": 0, "symbolic": 0, "unknown": 0}
    for _, value in all_values(graph):
        counts["values"] += 1
        counts[_state(value.type)] += 1
    return counts


def _state(type_: Type) -> str:
    from graphir.inference.engine import is_complete
    from graphir.types import Sym, TensorType

    if not is_complete(type_):
        return "unknown"
    symbolic = isinstance(type_, TensorType) and any(isinstance(dim, Sym) for dim in type_.shape or ())
    return "symbolic" if symbolic else "known"


def describe_counts(counts: dict[str, int]) -> str:
    """The counts in one line."""
    return (
        f"{counts['values']} values: {counts['known']} known in numbers, {counts['symbolic']} with symbolic sizes, "
        f"{counts['unknown']} not fully known"
    )


__all__ = ["add_arguments", "count_known", "describe_counts", "run", "values"]

"""`graphir shapes`: the type of every value of a model, and why it is that."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .model import open_model
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
    from graphir.converters.formats import Source
    from graphir.graph import Graph, Node

    from .console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = "Parameters are not needed: their shapes follow from the inputs', or the inputs' from theirs."
    parser.add_argument(
        "source", metavar="MODEL", help=SOURCE_HELP
    )
    parser.add_argument(
        "other", metavar="OTHER", nargs="?", help="a model to compare with it, layer by layer; exit 4 if they differ"
    )
    add_model_options(parser)
    add_other_options(parser)
    parser.add_argument(
        "--explain",
        metavar="NAME",
        help="only this value, or the results of this node: the rules and operands that fixed each of its sizes and "
        "its dtype, back to what the model declares; a value inside a subgraph is named as the table names it",
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
        return _compare(options, model, console)
    from graphir.inspection import values_of

    report = values_of(model)
    console.data({"source": options.source, **report.to_json()})
    console.show(report.to_text)
    return 0


def _explain(options: argparse.Namespace, graph: Graph, console: Console) -> int:
    from graphir.analysis.counting import visible_outputs
    from graphir.inference.explain import explain, find_node

    names = {value.name for value in graph.values}
    shapes = {name: shape for name, shape in (shapes_of(options) or {}).items() if name in names}
    dtypes = {name: dtype for name, dtype in (dtypes_of(options) or {}).items() if name in names}
    match = find_node(graph, options.explain)
    if match is None:
        explanation = explain(graph, options.explain, shapes, dtypes)
        console.data({"source": options.source, **explanation.to_json()})
        console.show(str(explanation))
        return 0
    around, node = match
    results = [explain(graph, f"{around}{value.name}", shapes, dtypes) for value in visible_outputs(node)]
    console.data({
        "source": options.source, "node": node.name, "operator": node.op.name,
        "results": [explanation.to_json() for explanation in results],
    })  # fmt: skip
    console.show("\n\n".join([_describe_node(node), *map(str, results)]))
    return 0


def _describe_node(node: Node) -> str:
    """Return lines that describe a node: its operator with attributes, and its inputs."""
    from graphir.analysis.attributes import described
    from graphir.safety.foreign_text import one_line

    read = [f"  reads {one_line(value.name)}: {value.type}" for value in node.inputs if value is not None]
    return "\n".join([one_line(f"{node.name}: {described(node)}"), *read])


def _compare(options: argparse.Namespace, model: Source, console: Console) -> int:
    from graphir.inspection import shapes_of_both

    other = open_model(other_options(options), console, simplified=False, settled=not options.partial)
    console.stage("aligning the models")
    report = shapes_of_both(model, other)
    console.data({"first": options.source, "second": options.other, **report.to_json()})
    console.show(lambda: report.to_text(verbose=options.verbose > 0))
    return 0 if report else 4

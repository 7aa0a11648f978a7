"""`graphir shapes`: the type of every value of a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .model import first_line, open_graph
from .options import add_model_options, add_output_options

if TYPE_CHECKING:
    from graphir.graph import Graph, Value

    from .console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = "Parameters are not needed: their shapes follow from the inputs', or the inputs' from theirs."
    parser.add_argument("source", metavar="MODEL", help="a symbol .json, checkpoint prefix, folder or .graphir.json")
    add_model_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one line a value."""
    from graphir.report.text import table

    graph, opened = open_graph(options, console, simplified=False)
    rows = values(graph)
    console.data({"source": options.source, "values": rows})
    console.show(
        first_line(graph, opened)
        + "\n\n"
        + table(
            ("value", "type", "by", "of"),
            [(row["name"], row["type"], row["operator"] or row["role"], ", ".join(row["inputs"])) for row in rows],
        )
    )
    return 0


def values(graph: Graph) -> list[dict[str, Any]]:
    """Inputs, parameters that came with the model, and results, in this order; shapes with None for unknown sizes."""
    from graphir.analysis.summary import visible_outputs

    outputs = set(graph.outputs)
    parameters = set(graph.parameters)
    shown = [*graph.inputs, *(value for value in graph.parameters if value.sources or value in outputs)]
    shown += [value for node in graph.nodes for value in visible_outputs(node)]
    return [_row(value, value in parameters, value in outputs) for value in shown]


def _row(value: Value, is_parameter: bool, is_output: bool) -> dict[str, Any]:
    node = value.producer
    role = "parameter" if is_parameter else "input" if node is None else "output" if is_output else "inner"
    shape = None
    if value.shape is not None:
        shape = [dim if isinstance(dim, int) else None if str(dim) == "?" else str(dim) for dim in value.shape]
    return {
        "name": value.name,
        "role": role,
        "type": str(value.type),
        "dtype": None if value.dtype is None else value.dtype.value,
        "shape": shape,
        "operator": None if node is None else node.op.name,
        "node": None if node is None else node.name,
        "inputs": [] if node is None else [used.name for used in node.inputs if used is not None],
        "sources": list(value.sources),
    }


__all__ = ["add_arguments", "run", "values"]

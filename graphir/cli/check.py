"""`graphir check`: everything that stands between a model and a target, at once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .model import first_line, open_graph
from .options import SOURCE_HELP, add_model_options, add_output_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphir.errors import Gap
    from graphir.graph import Graph
    from graphir.tensor import Tensor
    from graphir.types import DType

    from .console import Console

NODES_SHOWN = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = "Nothing is written. Parameters are not needed. The exit code is 1 if there are gaps."
    parser.add_argument("source", metavar="SOURCE", help=SOURCE_HELP)
    add_model_options(parser)
    parser.add_argument("--target", choices=("onnx",), default="onnx", help="the format to check for (default onnx)")
    parser.add_argument("--opset", type=int, metavar="N", help="the ONNX opset to check for, 13 or newer")
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """List the gaps, 1 if there are any; else the operators before and after."""
    from collections import Counter

    from graphir.converters.onnx.exporter import DEFAULT_OPSET, export_graph
    from graphir.errors import UnsupportedOpError
    from graphir.report.conversion import framework_of, operators_text, source_operators

    opset = DEFAULT_OPSET if options.opset is None else options.opset
    step = "reading"
    try:
        graph, opened = open_graph(options, console)
        step = "writing"
        stand_in(graph)
        model = export_graph(graph, opset=opset)
    except UnsupportedOpError as error:
        console.data({"source": options.source, "opset": opset, "ok": False, "gaps": gaps_json(error.gaps, step)})
        console.show(gaps_text(options.source, error.gaps, opset, step, verbose=options.verbose > 0))
        return 1
    before = Counter(node.op.name for node in graph.nodes) if opened is None else source_operators(opened)
    after = Counter(node.op_type for node in model.nodes)
    console.data(
        {
            "source": options.source,
            "opset": opset,
            "ok": True,
            "gaps": [],
            "source_operators": dict(sorted(before.items())),
            "target_operators": dict(sorted(after.items())),
        }
    )
    console.show(
        f"{first_line(graph, opened)}: everything converts to ONNX opset {opset}\n\n"
        + operators_text(before, after, "MXNet" if opened is not None else framework_of(graph), "ONNX")
    )
    return 0


def stand_in(graph: Graph) -> None:
    """Give parameters of known shape that have no elements zeros, which nobody computes unless an exporter asks."""
    from graphir.types import DType

    for value in graph.parameters:
        shape = tuple(dim for dim in value.shape or () if isinstance(dim, int))
        if value.tensor is None and value.shape is not None and len(shape) == len(value.shape):
            graph.set_tensor(value, zeros(value.dtype or DType.FLOAT32, shape))


def zeros(dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """A tensor of zeros that holds none of them."""
    import numpy as np

    from graphir.tensor import Tensor

    return Tensor.computed(dtype, shape, lambda: np.zeros(shape, dtype.numpy()))


def gaps_text(source: str, gaps: Sequence[Gap], opset: int, step: str, *, verbose: bool) -> str:
    """Every gap: operator, count, nodes, reason."""
    from graphir.report.text import plural, wrapped

    nodes = sum(len(gap.nodes) for gap in gaps)
    what = "cannot be read" if step == "reading" else f"cannot be written as ONNX opset {opset}"
    operators = plural(len({gap.operator for gap in gaps}), "operator")
    lines = [f"{source}: {operators} in {plural(nodes, 'node')} {what}"]
    for gap in gaps:
        shown = gap.nodes if verbose else gap.nodes[:NODES_SHOWN]
        more = f" and {len(gap.nodes) - len(shown)} more (-v lists all)" if len(shown) < len(gap.nodes) else ""
        lines += ["", f"  {gap.operator}: {plural(len(gap.nodes), 'node')}"]
        lines.append(wrapped(", ".join(shown) + more, first="    ", rest="    "))
        lines.append(wrapped(gap.reason, first="    why: ", rest="      "))
    return "\n".join(lines)


def gaps_json(gaps: Sequence[Gap], step: str) -> list[dict[str, Any]]:
    """The gaps as plain data."""
    return [
        {
            "operator": gap.operator,
            "step": step,
            "reason": gap.reason,
            "count": len(gap.nodes),
            "nodes": list(gap.nodes),
        }
        for gap in gaps
    ]


__all__ = ["add_arguments", "run"]

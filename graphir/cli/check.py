"""`graphir check`: everything that stands between a model and a target, at once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .model import first_line, open_model
from .options import SOURCE_HELP, add_model_options, add_output_options, add_target_options, target_options
from .stand_in import open_parameters, stand_in, with_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphir.errors import Gap
    from graphir.graph import Graph

    from .console import Console

NODES_SHOWN = 6
DEFAULT_TARGET = "onnx"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = (
        "Nothing is written. Parameters are not needed; where sizes depend on them, sizes are made up.\n"
        "The exit code is 1 if there are gaps."
    )
    parser.add_argument("source", metavar="SOURCE", help=SOURCE_HELP)
    add_model_options(parser)
    from graphir.converters.table import writable

    parser.add_argument(
        "--target", choices=tuple(writable()), default=DEFAULT_TARGET,
        help=f"the format to check for: {', '.join(writable())} (default {DEFAULT_TARGET})",
    )  # fmt: skip
    add_target_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """List the gaps, 1 if there are any; else the operators before and after."""
    from graphir.converters.table import FORMATS
    from graphir.converters.writing import example, make_ready, target_of
    from graphir.errors import UnsupportedOpError
    from graphir.report.parts import operators_text

    kind, name = options.target, example(options.target)
    stated = target_options(options, name, kind)
    target, brand = target_of(kind).named(stated), FORMATS[kind].brand
    step, made_up = "reading", dict[str, str]()
    try:
        reading, made_up = with_sizes(options, console, open_model(options, console))
        graph = reading.graph
        _need_sizes(graph)
        step = "writing"
        stand_in(graph)
        ready = make_ready(graph, name, kind, stated)
    except UnsupportedOpError as error:
        found = {"gaps": gaps_json(error.gaps, step), "made_up": made_up}
        console.data({"source": options.source, "target": kind, "opset": options.opset, "ok": False, **found})
        text = gaps_text(options.source, error.gaps, target, step, verbose=options.verbose > 0)
        console.show("\n\n".join([text, made_up_text(made_up).rstrip()]).rstrip())
        return 1
    before, after = reading.operators, ready.operators
    console.data(
        {
            "source": options.source,
            "target": kind,
            "opset": ready.opset,
            "ok": True,
            "gaps": [],
            "made_up": made_up,
            "source_operators": dict(sorted(before.items())),
            "target_operators": dict(sorted(after.items())),
        }
    )
    written = f"{brand} {ready.version}".rstrip()
    console.show(
        f"{first_line(reading)}: everything converts to {written}\n\n"
        + made_up_text(made_up)
        + operators_text(before, after, reading.description.made_by, brand)
    )
    return 0


def made_up_text(made_up: Mapping[str, str]) -> str:
    """What was assumed of the inputs, "" if nothing was."""
    from graphir.report.text import wrapped

    if not made_up:
        return ""
    shown = ", ".join(f"{name} is {type_}" for name, type_ in made_up.items())
    return wrapped(f"sizes that nothing states were made up for this check: {shown}; -i states others") + "\n\n"


def _need_sizes(graph: Graph) -> None:
    """Raise ImportFailure for parameters that have an open size still: the shapes of inputs are what is missing."""
    from graphir.analysis.memory.inference import example_of
    from graphir.errors import ImportFailure

    missing = open_parameters(graph)
    if missing:
        examples = " ".join(f"-i {example_of(value.name, value.shape)}" for value in graph.inputs[:5])
        lines = "\n  ".join(f"{value.name} {value.type}" for value in missing)
        raise ImportFailure(
            f"the sizes of {len(missing)} parameter(s) follow from nothing; give the shapes of the inputs, as in "
            f"{examples or '-i NAME:SIZES'}:\n  {lines}"
        )


def gaps_text(source: str, gaps: Sequence[Gap], target: str, step: str, *, verbose: bool) -> str:
    """Every gap on the way to the target that these words name: operator, count, nodes, reason."""
    from graphir.report.text import plural, wrapped

    nodes = sum(len(gap.nodes) for gap in gaps)
    what = "cannot be read" if step == "reading" else f"cannot be written as {target}"
    operators = plural(len({gap.operator for gap in gaps}), "operator")
    lines = [f"{one_line(source)}: {operators} in {plural(nodes, 'node')} {what}"]
    for gap in gaps:
        shown = gap.nodes if verbose else gap.nodes[:NODES_SHOWN]
        more = f" and {len(gap.nodes) - len(shown)} more (-v lists all)" if len(shown) < len(gap.nodes) else ""
        lines += ["", f"  {one_line(gap.operator)}: {plural(len(gap.nodes), 'node')}"]
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

"""`graphir check`: everything that stands between a model and a target, at once."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from glob import has_magic
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .model import first_line, open_model
from .options import SOURCE_HELP, add_model_options, add_output_options, add_target_options, target_options
from .stand_in import open_parameters, stand_in, with_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphir.converters.formats import Ready, Source
    from graphir.errors import Gap
    from graphir.graph import Graph
    from graphir.registry.sources import Search

    from .console import Console

NODES_SHOWN = 6
DEFAULT_TARGET = "onnx"
# What is a list of models, or an archive of some, by its name.
LISTS = (".csv", ".txt", ".list", ".tar", ".tar.gz", ".tgz", ".zip", ".mar", ".model")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = (
        "Nothing is written. Parameters are not needed; where sizes depend on them, sizes are made up.\n"
        "Of several models there is a row each, and the gaps of all of them.\n"
        "The exit code is 1 if there are gaps, or if a model cannot be read."
    )
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+",
        help=f"{SOURCE_HELP}; or several of them, folders of models, globs, archives and lists (see docs/registry.md)",
    )  # fmt: skip
    add_model_options(parser)
    from graphir.converters.table import writable

    parser.add_argument(
        "--target", choices=tuple(writable()), default=DEFAULT_TARGET,
        help=f"the format to check for: {', '.join(writable())} (default {DEFAULT_TARGET})",
    )  # fmt: skip
    add_target_options(parser)
    add_output_options(parser)


@dataclass(frozen=True)
class Checked:
    """What a check of a model found: gaps in a step (`reading` or `writing`), or what it would become."""

    gaps: Sequence[Gap] = ()
    step: str = ""
    made_up: Mapping[str, str] = field(default_factory=dict)
    reading: Source | None = None
    ready: Ready | None = None


def run(options: argparse.Namespace, console: Console) -> int:
    """List the gaps, 1 if there are any; else the operators before and after."""
    from graphir.converters.writing import example

    stated = target_options(options, example(options.target), options.target)
    models = several(options.sources)
    if models is not None:
        from .check_all import run_all

        return run_all(options, stated, models, console)
    options.source = options.sources[0]
    return _show(options, stated, checked(options, stated, console), console)


def checked(options: argparse.Namespace, stated: Mapping[str, Any], console: Console) -> Checked:
    """Check the model `options.source`. Raises what reading and writing it raise, but for operators that are not
    supported."""
    from graphir.converters.writing import example, make_ready
    from graphir.errors import UnsupportedOpError

    step, made_up = "reading", dict[str, str]()
    try:
        reading, made_up = with_sizes(options, console, open_model(options, console))
        _need_sizes(reading.graph)
        step = "writing"
        stand_in(reading.graph)
        return Checked((), "", made_up, reading, make_ready(
            reading.graph, example(options.target), options.target, stated
        ))  # fmt: skip
    except UnsupportedOpError as error:
        return Checked(error.gaps, step, made_up)


def _show(options: argparse.Namespace, stated: Mapping[str, Any], found: Checked, console: Console) -> int:
    from graphir.converters.table import FORMATS
    from graphir.converters.writing import target_of
    from graphir.report.parts import operators_text

    kind, brand = options.target, FORMATS[options.target].brand
    document = {"source": options.source, "target": kind}
    told = {"gaps": gaps_json(found.gaps, found.step), "made_up": found.made_up}
    if found.reading is None or found.ready is None:
        console.data({**document, "opset": options.opset, "ok": False, **told})
        target = target_of(kind).named(stated)
        text = gaps_text(options.source, found.gaps, target, found.step, verbose=options.verbose > 0)
        console.show("\n\n".join([text, made_up_text(found.made_up).rstrip()]).rstrip())
        return 1
    before, after = found.reading.operators, found.ready.operators
    console.data(
        {
            **document,
            "opset": found.ready.opset,
            "ok": True,
            **told,
            "source_operators": dict(sorted(before.items())),
            "target_operators": dict(sorted(after.items())),
        }
    )
    written = f"{brand} {found.ready.version}".rstrip()
    console.show(
        f"{first_line(found.reading)}: everything converts to {written}\n\n"
        + made_up_text(found.made_up)
        + operators_text(before, after, found.reading.description.made_by, brand)
    )
    return 0


def several(sources: Sequence[str]) -> Search | None:
    """The models of sources that mean several, None where a single model is meant: a folder with one right in it is
    that model, as everywhere. Raises what `search` raises."""
    from graphir.converters.glance import Glance

    only = sources[0]
    if len(sources) == 1 and not has_magic(only) and not only.endswith(LISTS) and not Glance(only).is_folder:
        return None
    from graphir.registry.sources import search

    found = search(sources)
    if len(sources) > 1 or has_magic(only) or only.endswith(LISTS):
        return found
    right_here = [model for model in found.models if "/" not in model.name and not model.is_closed]
    return None if len(right_here) == 1 or not found.models else found


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

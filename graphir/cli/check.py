"""`graphir check`: everything that stands between a model and a target, at once."""

from __future__ import annotations

import argparse
from glob import has_magic
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .checked import NODES_SHOWN, Checked, checked, gaps_json
from .model import first_line
from .options import SOURCE_HELP, add_model_options, add_output_options, add_target_options, target_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphir.errors import Gap
    from graphir.registry.sources import Search

    from .console import Console

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


__all__ = ["add_arguments", "run"]

"""`graphir plot`: a picture of a model, or of two side by side with their differences."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .model import open_model
from .options import (
    SOURCE_HELP,
    add_model_options,
    add_other_options,
    add_output_options,
    model_options,
    one_of,
    other_options,
)

if TYPE_CHECKING:
    from graphir.converters.formats import Source

    from .console import Console

# Which of these a layer is can depend on the processor: they are counted together.
AGREE = ("identical", "noise", "agreed")
SUFFIXES = (".html", ".svg", ".png", ".dot")
# A report of a model of 100,000 nodes has some 50 MB.
LARGEST_REPORT = 1 << 28
EXAMPLES = """Repeated parts are drawn as one box; in the .html a click expands it. With OTHER, both models are drawn
side by side and differences are marked. The page loads no other files.

examples:
  graphir plot model-symbol.json model.html -i data:1,3,224,224
  graphir plot before.onnx after.onnx changes.html
  graphir verify a.onnx b.onnx --per-layer --report verdict.json; graphir plot a.onnx a.html --report verdict.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="a model to compare with it")
    parser.add_argument(
        "target", metavar="OUT", type=one_of(SUFFIXES), help="the picture to write: .html, .svg, .png or .dot"
    )
    add_model_options(parser)
    add_other_options(parser)
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="mark nodes by a report: the .json that verify --per-layer, convert --verify or padding wrote, "
        "or what check --provider --json printed: nodes that run elsewhere, and where the model is cut",
    )
    parser.add_argument(
        "--most", metavar="N", type=boxes, default=40, help="expand boxes until N are visible at first (default 40)"
    )
    parser.add_argument(
        "--simplified", action="store_true", help="draw the model as it is converted, batch normalization folded"
    )
    add_output_options(parser)


def boxes(text: str) -> int:
    """Read a number of boxes. Raises ArgumentTypeError."""
    if not text.isdecimal() or not 1 <= int(text) <= 2000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of boxes; expected 1 to 2000")
    return int(text)


def run(options: argparse.Namespace, console: Console) -> int:
    """Draw the model and print what was drawn. Return 0."""
    from graphir.drawing import plot
    from graphir.inspection import titles_of

    models = [_open_or_outline(options, console)]
    if options.other is not None:
        models.append(_open_or_outline(other_options(options), console))
    report = None if options.report is None else _read_report(options.report)
    lines = titles_of(models)
    console.stage("looking for repeated parts")
    picture = plot(*(model.graph for model in models), report=report, titles=lines, most=options.most)
    console.stage("drawing")
    picture.save(options.target)
    facts = [{"model": line, **side.facts()} for line, side in zip(lines, picture.sides, strict=True)]
    console.data({"picture": options.target, "models": facts})
    console.show("\n".join([*(_line(entry) for entry in facts), f"written: {options.target}"]))
    return 0


def _open_or_outline(options: argparse.Namespace, console: Console) -> Source:
    """Return the model, or the outline of its file if it cannot be imported."""
    from graphir.converters.opening import read_outline
    from graphir.errors import FormatError, GraphirError, UnsupportedOpError
    from graphir.safety.foreign_text import listing

    try:
        return open_model(options, console, simplified=options.simplified)
    except FormatError:
        raise
    except GraphirError as error:
        outline = read_outline(options.source, model_options(options), error)
        unknown = error.gaps if isinstance(error, UnsupportedOpError) else ()
        reason = listing([gap.operator for gap in unknown], 4) or str(error).split("\n", 1)[0]
        remark = f"drawn from its file only, because it cannot be imported: {reason}"
        return replace(outline, description=replace(outline.description, remark=remark))


def _line(entry: dict[str, Any]) -> str:
    from graphir.report.text import plural

    counts: Counter[str] = Counter()
    for kind, count in entry["marks"].items():
        counts["agree" if kind in AGREE else kind] += count
    marks = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    runs = f", {plural(entry['runs'], 'repetition')} found" if entry["runs"] else ""
    return f"{entry['model']}\n  {plural(entry['nodes'], 'node')}{runs}" + (f"\n  {marks}" if marks else "")


def _read_report(path: str) -> object:
    """Return the report as plain data. Raises FormatError if it is not JSON."""
    from graphir.errors import FormatError
    from graphir.files.reading import read_limited
    from graphir.safety.json_text import NoJson, read_json

    try:
        return read_json(read_limited(path, LARGEST_REPORT))
    except NoJson as error:
        raise FormatError(f"{error}; expected a report that --report x.json wrote", path=path) from error

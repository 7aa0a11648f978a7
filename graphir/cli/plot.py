"""`graphir plot`: a picture of a model, or of two side by side with their differences."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .model import open_model
from .options import SOURCE_HELP, add_model_options, add_other_options, add_output_options, one_of, other_options

if TYPE_CHECKING:
    from .console import Console

SUFFIXES = (".html", ".svg", ".png", ".dot")
EXAMPLES = """What repeats is drawn as one box, which a click opens in the .html. With OTHER both models stand side by
side, and what differs is marked. The page loads nothing from elsewhere. All but .dot need the extra `plot`.

examples:
  graphir plot model-symbol.json model.html -i data:1,3,224,224
  graphir plot before.onnx after.onnx changes.html
  graphir verify a.onnx b.onnx --per-layer --report verdict.json; graphir plot a.onnx a.html --report verdict.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="a model to hold against it")
    parser.add_argument(
        "target", metavar="OUT", type=one_of(SUFFIXES), help="the picture to write: .html, .svg, .png or .dot"
    )
    add_model_options(parser)
    add_other_options(parser)
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="mark nodes by what a report says: the .json that verify --per-layer, convert --verify or padding wrote",
    )
    parser.add_argument(
        "--most", metavar="N", type=boxes, default=40, help="open boxes until N are to be seen at first (default 40)"
    )
    parser.add_argument(
        "--simplified", action="store_true", help="draw the model as it is converted, batch normalization folded"
    )
    add_output_options(parser)


def boxes(text: str) -> int:
    """Read a number of boxes. Raises ArgumentTypeError."""
    if not text.isdecimal() or not 1 <= int(text) <= 2000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of boxes; expected 1 to 2000")
    return int(text)


def run(options: argparse.Namespace, console: Console) -> int:
    """Draw the model and say what was drawn."""
    from graphir.drawing import plot
    from graphir.inspection import titles_of

    models = [open_model(options, console, simplified=options.simplified)]
    if options.other is not None:
        models.append(open_model(other_options(options), console, simplified=options.simplified))
    report = None if options.report is None else _read(options.report)
    lines = titles_of(models)
    console.stage("looking for what repeats")
    made = plot(*(model.graph for model in models), report=report, titles=lines, most=options.most)
    console.stage("drawing")
    made.save(options.target)
    facts = [{"model": line, **side.facts()} for line, side in zip(lines, made.sides, strict=True)]
    console.data({"picture": options.target, "models": facts})
    console.show("\n".join([*(_line(held) for held in facts), f"written: {options.target}"]))
    return 0


def _line(held: dict[str, Any]) -> str:
    from graphir.report.text import plural

    marks = ", ".join(f"{count} {kind}" for kind, count in held["marks"].items())
    runs = f", {plural(held['runs'], 'repetition')} found" if held["runs"] else ""
    return f"{held['model']}\n  {plural(held['nodes'], 'node')}{runs}" + (f"\n  {marks}" if marks else "")


def _read(path: str) -> object:
    """The report as plain data. Raises FormatError for what is no JSON."""
    from graphir.errors import FormatError

    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise FormatError(f"no JSON: {error}; expected a report that --report x.json wrote", path=path) from error


__all__ = ["add_arguments", "run"]

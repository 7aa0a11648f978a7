"""`graphir memory`: what a model needs while it runs or trains, and plans that compute some of it twice."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .model import open_model
from .options import SOURCE_HELP, add_model_options, add_output_options, model_options, one_of, tolerance, whole_number
from .sizes import size as size

if TYPE_CHECKING:
    from graphir.converters.mxnet.memory.plan import Switches
    from graphir.memory_use import MemoryReport

    from .console import Console

EXAMPLES = """Sizes must be known: set dynamic ones with -i. Inference is one run of the graph in its order;
--training is forward and backward as in MXNet 1.9.1's executor, for models of every format. docs/memory.md
defines the terms.

examples:
  graphir memory model.onnx -i data:8,3,224,224 --timeline memory.html
  graphir memory net-symbol.json -i data:32,3,224,224 --training --mxnet
  graphir memory net-symbol.json -i data:32,3,224,224 --budget 512MB --symbol small-symbol.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    add_model_options(parser)
    parser.add_argument("--training", action="store_true", help="plan forward and backward, not one run")
    parser.add_argument(
        "--timeline", metavar="FILE", type=one_of((".html", ".svg")), help="write a picture of the lifetimes of tensors"
    )
    plans = parser.add_argument_group("plans that run layers twice, for training")
    goal = plans.add_mutually_exclusive_group()
    goal.add_argument(
        "--budget", metavar="SIZE", type=size,
        help="train within this memory, as in 512MB (1 MB = 2**20 bytes), with the least work",
    )
    goal.add_argument("--least", action="store_true", help="train in the least memory that the search finds")
    plans.add_argument(
        "--symbol", metavar="FILE", type=one_of((".json",)),
        help="write the MXNet symbol with the plan's force_mirroring attributes",
    )  # fmt: skip
    plans.add_argument("--seconds", metavar="N", type=tolerance, help="time limit of the search (default 60)")
    mxnet = parser.add_argument_group("MXNet's own plan")
    mxnet.add_argument(
        "--mxnet", action="store_true", help="count as MXNet does, 4 bytes an element, and plan an MXNet file as it is"
    )
    mxnet.add_argument("--do-mirror", action="store_true", help="MXNET_BACKWARD_DO_MIRROR=1")
    mxnet.add_argument(
        "--gradient-sum-cap", metavar="N", type=whole_number, help="MXNET_EXEC_INPLACE_GRAD_SUM_CAP (default 8)"
    )
    mxnet.add_argument("--match-range", metavar="N", type=whole_number, help="NNVM_EXEC_MATCH_RANGE (default 16)")
    mxnet.add_argument("--search-match-range", action="store_true", help="NNVM_AUTO_SEARCH_MATCH_RANGE=1")
    mxnet.add_argument("--num-temp", metavar="N", type=whole_number, help="NNVM_EXEC_NUM_TEMP (default 1)")
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the totals, the plan, and the tensors alive at the peak. Return 0."""
    from graphir.inspection import title_of
    from graphir.memory_use import SECONDS, MemoryQuestion, memory_of
    from graphir.report.memory import memory_json, memory_text

    plans = options.least or options.budget is not None
    if options.symbol and not plans:
        options.parser.error("argument --symbol: a plan to write needs --budget or --least")
    wanted = MemoryQuestion(
        training=options.training or plans,
        mxnet=options.mxnet,
        budget=options.budget,
        least=options.least,
        switches=_switches(options),
        seconds=SECONDS if options.seconds is None else options.seconds,
    )
    model = open_model(options, console, simplified=False)
    console.stage("planning memory")
    report = memory_of(model, model_options(options), wanted)
    line = title_of(model)
    _write(options, report, line)
    console.data({"source": options.source, **memory_json(report)})
    console.show(lambda: memory_text(report, line, verbose=options.verbose > 0))
    return 0


def _switches(options: argparse.Namespace) -> Switches:
    from graphir.analysis.memory.blocks import Sharing
    from graphir.converters.mxnet.memory.plan import Switches

    given: dict[str, Any] = {"match_range": options.match_range, "colours": options.num_temp}
    sharing = Sharing(search_match_range=options.search_match_range, **_given_only(given))
    return Switches(do_mirror=options.do_mirror, sharing=sharing, **_given_only({"sum_cap": options.gradient_sum_cap}))


def _given_only(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _write(options: argparse.Namespace, report: MemoryReport, line: str) -> None:
    from graphir.files.writing import replacing

    if options.symbol:
        with replacing(options.symbol) as (file,):
            file.write(report.symbol.encode())
    if options.timeline:
        from graphir.report.memory_picture import timeline_html, timeline_svg

        picture = timeline_html if options.timeline.endswith(".html") else timeline_svg
        text = picture(report, line)
        with replacing(options.timeline) as (file,):
            file.write(text.encode())

"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .input_spec import input_spec
from .live_options import add_live_options
from .sizes import size

if TYPE_CHECKING:
    from graphir.converters.options import ModelOptions
    from graphir.verification.options import ComparisonOptions

# What a command that reads any model says of it.
SOURCE_HELP = (
    "an MXNet symbol .json, checkpoint prefix, folder or .params; an .onnx; a TensorFlow .pb, SavedModel folder, "
    ".keras or .h5; a .graphir.json"
)
def names(text: str) -> list[str]:
    """Read names with commas between. Raises ArgumentTypeError for an empty one."""
    parts = [name.strip() for name in text.split(",")]
    if not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name; write names with commas between, as in a,b:1")
    return parts


def constant_value(text: str) -> tuple[str, Any]:
    """Read `name=value`, the value a number or lists of numbers. Raises ArgumentTypeError."""
    from graphir.safety.json_text import read_json

    name, sign, value = text.partition("=")
    try:
        number = read_json(value)
    except ValueError:
        number = None
    if not name or not sign or not (isinstance(number, list) or type(number) in (int, float, bool)):
        raise argparse.ArgumentTypeError(f"{text!r}: write name=value, as in k=3 or axes=[0,2]")
    return name, number


def limits(text: str) -> Any:
    """Read `name=number,...`. Raises ArgumentTypeError, which names the limits that there are."""
    from graphir.errors import GraphirError
    from graphir.safety.limits import Limits

    try:
        return Limits.of(text)
    except GraphirError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def one_of(suffixes: tuple[str, ...]) -> Callable[[str], str]:
    """Return an argparse type for files to write: it checks the suffix and that the folder exists."""

    def check(text: str) -> str:
        if not text.endswith(suffixes):
            raise argparse.ArgumentTypeError(f"{text!r}: its name must end in {' or '.join(suffixes)}")
        folder = os.path.dirname(text) or "."
        if not os.path.isdir(folder):
            raise argparse.ArgumentTypeError(f"{text!r}: the folder {folder} does not exist")
        return text

    return check


def whole_number(text: str) -> int:
    """Read a number that is 0 or more. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}; write a whole number, 0 or more")
    return int(text)


def tolerance(text: str) -> float:
    """Read a finite number that is 0 or more. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise argparse.ArgumentTypeError(f"invalid value: {text!r}; write a number that is 0 or more, as in 1e-4")
    return number


def seconds(text: str) -> float:
    """Read a finite number above 0. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write a number above 0, as in 2.5")
    return number


def opset(text: str) -> int:
    """Read an ONNX opset that can be written. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}")
    from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET, newest_opset

    if len(text) > 9 or not OLDEST_OPSET <= int(text) <= newest_opset():
        raise argparse.ArgumentTypeError(
            f"opset {text} is out of range: {OLDEST_OPSET} to {newest_opset()} can be written"
        )
    return int(text)


def read_by(module: str, name: str) -> Callable[[str], str]:
    """Return a type for texts that a function of graphir's reads; the text stays as it is. What that function refuses
    is wrong usage."""

    def check(text: str) -> str:
        from importlib import import_module

        from graphir.errors import GraphirError

        try:
            getattr(import_module(module), name)(text)
        except GraphirError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return check


PROVIDER = "NAME[:DEVICE][,KEY=VALUE]"
provider = read_by("graphir.runtime.providers", "parse_provider")


def need_files(*paths: str | None) -> None:
    """Raise ImportFailure, before any work is done, if one of the files that were named is not there."""
    from graphir.errors import ImportFailure
    from graphir.files.paths import describe_missing

    for path in paths:
        if path is not None and not os.path.isfile(path):
            raise ImportFailure(describe_missing(path))


def need_feeds(words: Sequence[str] | None) -> None:
    """Raise ImportFailure, before any work is done, for a word of --feeds that is no file, no folder and no drawn set's
    name."""
    if not words:
        return
    from graphir.errors import ImportFailure
    from graphir.inputs.sets import NAMES

    for word in words:
        if word not in NAMES and not os.path.exists(word):
            raise ImportFailure(f"{word}: no such file or folder, and no drawn set of inputs ({', '.join(NAMES)})")


def add_output_options(parser: argparse.ArgumentParser, *, judges: bool = False) -> None:
    """Add --json, -v and -q; for a command that judges also --output-format."""
    group = parser.add_argument_group("output")
    formats = group.add_mutually_exclusive_group()
    formats.add_argument(
        "--json", dest="output_format", action="store_const", const="json", default="text",
        help="print one JSON document instead of text",
    )  # fmt: skip
    if judges:
        formats.add_argument(
            "--output-format", choices=("text", "json", "github", "junit"),
            help="format of stdout: text (the default), json (the same as --json), github (the text, and annotations "
            "of a GitHub Actions run), junit (JUnit's XML, one test case per judgement)",
        )  # fmt: skip
    group.add_argument("-v", "--verbose", action="count", default=0, help="print more; -vv adds tracebacks to errors")
    group.add_argument("-q", "--quiet", action="store_true", help="print only errors")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add --format, -p, -i, --limits, --signature, and the part of the model: --outputs, --inputs."""
    add_format_option(parser)
    parser.add_argument(
        "--limits", metavar="NAME=NUMBER,...", type=limits,
        help="raise the limits of what a model may need beyond its files: elements, nodes, expansion, depth (see "
        "docs/limits.md)",
    )  # fmt: skip
    add_plugin_option(parser)
    parser.add_argument(
        "-p", "--params", metavar="FILE", help="the parameters file, if it is not beside the model"
    )
    parser.add_argument(
        "-i", "--input", dest="inputs", metavar="NAME:SHAPE[:DTYPE]", type=input_spec, action="append", default=[],
        help="the shape of an input, as in data:1,3,224,224 or data:N,3,H,W:float16 (N, H, W stay dynamic); repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--signature", metavar="NAME", help="which signature of a TensorFlow SavedModel (default serving_default)"
    )
    parser.add_argument(
        "--state", choices=("keep", "refuse"), default="keep",
        help="state that a TensorFlow model keeps between runs: keep (the default) makes it inputs and outputs, refuse "
        "rejects such a model",
    )  # fmt: skip
    parser.add_argument(
        "--outputs", metavar="NAMES", type=names, action="extend",
        help="the values or layers to use as outputs, as in logits,split:1 (default: the model's own); nodes "
        "that they do not need are omitted; `graphir layers MODEL` lists them",
    )  # fmt: skip
    parser.add_argument(
        "--inputs", dest="cut_at", metavar="NAMES", type=names, action="extend", default=[],
        help="values or layers that become inputs; the nodes before them are omitted",
    )  # fmt: skip


def add_conversion_arguments(parser: argparse.ArgumentParser) -> None:
    """Add MODEL and OUT, an .onnx file, with the options of both."""
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument("target", metavar="OUT", type=one_of((".onnx",)), help="the .onnx file to write")
    add_model_options(parser)
    add_target_options(parser)


def add_latency_option(group: argparse._ArgumentGroup, default: float) -> None:
    """Add --seconds, for which two models are timed."""
    group.add_argument(
        "--seconds", metavar="X", type=seconds, default=default,
        help=f"time to measure latencies in turns (default {default:g})",
    )  # fmt: skip


def add_plugin_option(parser: argparse.ArgumentParser) -> None:
    """Add --plugin."""
    parser.add_argument(
        "--plugin", dest="plugins", metavar="FILE", action="append", default=[],
        help="a Python file that defines operators (see docs/plugins.md); it is executed; repeatable",
    )  # fmt: skip


def add_format_option(parser: argparse.ArgumentParser, option: str = "--format", of: str = "the model") -> None:
    """Add --format, or another `option` for the format of a model."""
    from graphir.converters.table import readable

    parser.add_argument(
        option, choices=tuple(readable()), metavar="NAME",
        help=f"the format of {of}, if content and name do not decide it: {', '.join(readable())}",
    )  # fmt: skip


def add_other_options(parser: argparse.ArgumentParser, other: str = "OTHER") -> None:
    """Add the options of the second model, such as --other-params; the help calls it `other`."""
    add_format_option(parser, "--other-format", of=other)
    parser.add_argument("--other-params", metavar="FILE", help=f"the parameters of {other}")
    parser.add_argument(
        "--other-input",
        dest="other_inputs",
        metavar="NAME:SHAPE[:DTYPE]",
        type=input_spec,
        action="append",
        default=[],
        help=f"the shape of an input of {other}; without any, -i applies to both models",
    )
    parser.add_argument(
        "--other-signature", metavar="NAME", help=f"which signature of {other}, where that is a TensorFlow SavedModel"
    )
    parser.add_argument(
        "--other-outputs", metavar="NAMES", type=names, action="extend", help=f"--outputs of {other}"
    )
    parser.add_argument(
        "--other-inputs", dest="other_cut_at", metavar="NAMES", type=names, action="extend", default=[],
        help=f"--inputs of {other}",
    )  # fmt: skip


def other_options(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options for the second model."""
    inputs = options.other_inputs or options.inputs
    return argparse.Namespace(
        **{**vars(options), "source": getattr(options, "other", None), "format": options.other_format,
           "params": options.other_params, "inputs": inputs,
           "signature": options.other_signature, "outputs": options.other_outputs, "cut_at": options.other_cut_at}
    )


def add_comparison_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of a comparison, from --against to --provider."""
    group.add_argument(
        "--against",
        choices=("auto", "live", "reference"),
        default="auto",
        help="the reference of an MXNet or TensorFlow model: the live framework in a child process, or graphir's "
        "numpy reference of MXNet and the imported TensorFlow graph; auto (the default) takes the live one where "
        "there is one",
    )
    add_live_options(group)
    group.add_argument(
        "--feeds", metavar="WHAT", action="append",
        help="inputs, instead of the sets that are drawn by default: an .npz of arrays by input name, an .npy for the "
        "only input, an image (with the extra `images`), a folder of such, or a drawn set: normal (standard normal "
        "numbers), edges (another batch, open sizes that differ from each other, negative integers, the first and "
        "last rows of tables), wide (5 to 50 times larger, integers over their whole range), mask (0 and 1), or "
        "drawn, which is all four; repeatable (a file of such a name: ./wide)",
    )  # fmt: skip
    group.add_argument(
        "--seed", type=whole_number, default=None, metavar="N",
        help="seed of the first drawn inputs (default 0); each further set takes one of the numbers behind it",
    )  # fmt: skip
    group.add_argument(
        "--rtol", type=tolerance, metavar="X", help="allow differences up to X times the output's scale ..."
    )
    group.add_argument(
        "--atol", type=tolerance, metavar="X", help="... plus X, instead of judging by the measured noise floor"
    )
    group.add_argument("--per-layer", action="store_true", help="compare every layer and name the first that differs")
    group.add_argument(
        "--memory-budget", metavar="SIZE", type=size,
        help="memory for the comparison besides the weights, such as 512MB (default 1GB): layers run in slices",
    )  # fmt: skip
    group.add_argument(
        "--provider", metavar=PROVIDER, type=provider, default="cpu",
        help="where onnxruntime runs the model, as in cpu (default), cuda:1 or openvino:CPU,num_of_threads=2; "
        "`graphir providers` lists what this machine can do",
    )  # fmt: skip


def model_options(options: argparse.Namespace) -> ModelOptions:
    """Return the options about the model. An input that is given twice is wrong usage."""
    from graphir.converters.options import ModelOptions

    return ModelOptions(
        params=options.params, shapes=shapes_of(options), dtypes=dtypes_of(options), format=options.format,
        keep_loss=getattr(options, "keep_loss", False), signature=options.signature, inputs=options.cut_at,
        outputs=options.outputs, state=options.state,
        strict=getattr(options, "strict", False), training=getattr(options, "training", False),
    )  # fmt: skip


def comparison_options(
    options: argparse.Namespace, tell: Callable[[str], None] | None = None
) -> ComparisonOptions:
    """Return the options about a comparison; `tell` receives its progress."""
    from graphir.converters.kernel.live import Live
    from graphir.verification.options import MEMORY_BUDGET, ComparisonOptions

    live = Live(options.python, options.live_seconds, options.live_memory)
    return ComparisonOptions(
        feeds=options.feeds, seed=options.seed or 0, rtol=options.rtol, atol=options.atol, per_layer=options.per_layer,
        against=options.against, providers=options.provider, match=getattr(options, "match", ()),
        live=live, tell=tell,
        reproduce=getattr(options, "reproduce", None), memory_budget=options.memory_budget or MEMORY_BUDGET,
    )  # fmt: skip


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add --opset, the opset of the target."""
    parser.add_argument(
        "--opset", type=opset, metavar="N",
        help="the ONNX opset to write, 13 or newer (default: an ONNX model's own, else 17, or the lowest possible)",
    )


def target_options(options: argparse.Namespace, target: str, format: str) -> dict[str, Any]:
    """Return the options about a target. One that its format does not have is wrong usage."""
    from graphir.converters.writing import check_options
    from graphir.errors import ExportFailure

    weights = getattr(options, "weights", "auto")
    given = {"opset": options.opset, "names": getattr(options, "names", None)}
    given |= {name: getattr(options, name, None) for name in ("layout", "like", "like_graph")}
    given["training"] = getattr(options, "training", False) or None
    given["weights"] = None if weights == "auto" else weights
    stated = {name: value for name, value in given.items() if value is not None}
    try:
        check_options(target, format, stated)
    except ExportFailure as error:
        options.parser.error(str(error))
    return stated


def shapes_of(options: argparse.Namespace) -> dict[str, tuple[Any, ...]] | None:
    """Return the shapes that -i gave, None if there are none. An input that is given twice is wrong usage."""
    names = [given.name for given in options.inputs]
    for name in names:
        if names.count(name) > 1:
            options.parser.error(f"argument -i/--input: {name!r} is given {names.count(name)} times")
    return {given.name: given.shape for given in options.inputs} or None


def constants_of(options: argparse.Namespace) -> dict[str, Any] | None:
    """Return the values that --constant gave, None if there are none. An input that is given twice is wrong usage."""
    names = [name for name, _ in options.constants]
    for name in names:
        if names.count(name) > 1:
            options.parser.error(f"argument --constant: {name!r} is given {names.count(name)} times")
    return dict(options.constants) or None


def dtypes_of(options: argparse.Namespace) -> dict[str, str] | None:
    """Return the dtypes that -i gave, None if there are none."""
    return {given.name: given.dtype for given in options.inputs if given.dtype is not None} or None

"""The command `graphir`: one thin file a command, imported when that command is called.

Exit codes: 0 done, 1 failed, 2 usage, 4 verified and different, 5 not proven; 128 and the number of the signal that
ended it.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

COMMANDS = {
    "convert": "convert a model to another format, and prove the result with --verify",
    "convert-all": "convert a registry of models: folders, globs, lists, archives, in worker processes, resumable",
    "check": "list every operator of a model that cannot be converted, all at once",
    "verify": "compare two models numerically; with --per-layer every layer",
    "shapes": "list the type of every value of a model; with OTHER, of two side by side",
    "padding": "list what every convolution and pooling pads; explain where two models differ in it",
    "diff": "compare two models as graphs: operators, attributes, weights, wiring",
    "plot": "draw a model, repeated parts collapsed; with OTHER, two side by side with their differences",
    "summary": "list the layers of a model with their parameters and multiply-accumulates",
    "cost": "count parameters, multiply-accumulates, FLOPs and activations by layer and operator",
    "layers": "list where a model can be cut: the names that --outputs and --inputs take",
    "memory": "list the memory that a model needs to run or train, and why; plan recomputation that saves memory",
    "bench": "time a model on each provider and batch size; with OTHER, two in turns",
    "simplify": "write the smallest equal graph of a model, prove it, and measure what that saves",
    "quantize": "quantize a model to 8 or 4 bits by onnxruntime, and measure what that saves and costs",
    "providers": "list what onnxruntime can run models on here: CPUs, GPUs and other devices, and why not the rest",
    "params": "list the weights of a .params file or of any model, or write them as .safetensors or .npz",
}
DESCRIPTION = "Reads MXNet models without MXNet, writes ONNX, and proves that the result computes the same."
# So many new objects are looked through for cycles at a time, not 700: most of what a command makes stays.
YOUNG = 50_000
# What other tools call a thing, and what it is called here, as far as the command has it.
MEANT = {
    "fp16": ("float16",), "half": ("float16",), "bf16": ("bfloat16",),
    "--fp16": ("--dtype float16",), "--half": ("--dtype float16",),
    "--tolerance": ("--rtol", "--atol"), "--tol": ("--rtol", "--atol"), "--threshold": ("--rtol", "--atol"),
    "--shape": ("-i NAME:SHAPE",), "--input-shape": ("-i NAME:SHAPE",), "--gpu": ("--provider cuda",),
    "devices": ("providers",),
    "--device": ("--provider",), "-o": ("graphir convert MODEL OUT, without an option",),
    "info": ("summary",), "inspect": ("summary",), "show": ("summary", "plot"), "draw": ("plot",), "view": ("plot",),
    "compare": ("verify", "diff"), "export": ("convert",),
}  # fmt: skip
DEFECT = "This is a defect of graphir; please report it"
ALSO = " with the output of the same command with -vv"
EPILOG = (
    "exit codes: 0 done, 1 failed, 2 wrong usage, 4 verified and different, 5 not proven\n"
    "`graphir COMMAND --help` explains a command."
)


class Parser(argparse.ArgumentParser):
    """The argument parser; its errors look like all others of this command."""

    def error(self, message: str) -> NoReturn:
        """Print the error and where help is, and exit with 2."""
        from graphir.safety.foreign_text import one_line

        from .console import complain

        message += self._suggestion(message)
        complain(f"{one_line(message)}\ntry: {self.prog} --help")
        self.exit(2)

    def _suggestion(self, message: str) -> str:
        """Return suggestions for an unknown command or option, as the end of a sentence."""
        import re

        from graphir.structure.names import similar_names

        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        unknown = re.search(r"unrecognized arguments: (--?[\w-]+)", message)
        if choice is not None:
            typed, known = choice[1], re.findall(r"[\w.-]+", choice[2])
        elif unknown is not None:
            typed, known = unknown[1], list(self._option_string_actions)
        else:
            return ""
        if "COMMAND" in message and (os.path.exists(typed) or re.search(r"\.\w+$", typed)):
            return f"; that looks like a model: graphir summary {typed}"
        known_here = {*known, self.prog.partition(" ")[0]}
        meant = [name for name in MEANT.get(typed, ()) if name.partition(" ")[0] in known_here]
        return f"; there is {', '.join(meant)}" if meant else similar_names(typed, known)


class Version(argparse.Action):
    """Print the version, which is read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print and exit."""
        from graphir import __version__

        print(f"graphir {__version__}")
        parser.exit(0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    gc.set_threshold(YOUNG)
    atexit.register(gc.freeze)  # looking for cycles in all that is left takes the interpreter a tenth of a conversion
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = _parse_options(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    if options is None:
        _overview_parser().print_help()
        return 2
    return _run_guarded(options)


def _parse_options(arguments: list[str]) -> argparse.Namespace | None:
    """Return the options of the command that is called, None if none is. Options may stand anywhere between
    positionals."""
    if not arguments or arguments[0] not in COMMANDS:
        options = _overview_parser().parse_args(arguments)
        return None if options.command is None else options
    name = arguments[0]
    parser = command_parser(name)
    options = parser.parse_intermixed_args(arguments[1:])
    options.command, options.parser = name, parser
    return options


def command_parser(name: str) -> Parser:
    """Return the parser of a command's arguments; `name` is a key of COMMANDS."""
    parser = Parser(prog=f"graphir {name}", **_help_options(name))
    _module(name).add_arguments(parser)
    return parser


def _module(name: str) -> Any:
    """Return the module of a command."""
    return import_module(f"graphir.cli.{name.replace('-', '_')}")


def _help_options(name: str) -> dict[str, Any]:
    help_text = COMMANDS[name]
    return {
        "description": help_text[0].upper() + help_text[1:] + ".",
        "formatter_class": _formatter,
    }


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return the formatter of help. argparse makes one per option, so the width is found without imports."""
    try:
        columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size().columns
    except (OSError, ValueError):
        columns = 80
    return argparse.RawDescriptionHelpFormatter(prog, width=columns - 2)


def _overview_parser() -> Parser:
    """Return the parser of the arguments before a command; it only lists the commands."""
    parser = Parser(prog="graphir", description=DESCRIPTION, epilog=EPILOG, formatter_class=_formatter)
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name, help_text in COMMANDS.items():
        commands.add_parser(name, help=help_text, **_help_options(name))
    return parser


def _plugins(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Return a context in which the plugins that the command names are loaded."""
    files = getattr(options, "plugins", None)
    if not files:
        return nullcontext()
    from graphir.plugins import using

    return using(*files)


def _run_guarded(options: argparse.Namespace) -> int:
    """Run the chosen command; every failure becomes one clear text on stderr.

    Signals raise exceptions only where these are handled. In the imports before, an interrupt ends the process.
    """
    from graphir.errors import GraphirError
    from graphir.files.signals import Ended, ended_by_signals, was_interrupted
    from graphir.files.sources import sources_kept
    from graphir.safety.counted import listening
    from graphir.safety.limits import limited

    from .console import Console

    console = Console(options.output_format, verbose=options.verbose, quiet=options.quiet, command=options.command)
    limits = limited(getattr(options, "limits", None))
    try:
        with ended_by_signals(), limits, sources_kept(), listening(console.count), _plugins(options):
            code = _module(options.command).run(options, console)
        console.flush()
        return int(code)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        console.error("interrupted")
        return 130
    except Ended as end:
        console.error(f"ended by {end}")
        return 128 + end.number
    except GraphirError as error:
        return console.failed(str(error), error)
    except MemoryError as error:
        return console.failed(f"not enough memory: {error}" if str(error) else "not enough memory", error)
    except OSError as error:
        return console.failed(f"{error.filename}: {error.strerror}" if error.filename else str(error), error)
    except Exception as error:
        if was_interrupted():  # C code that imports or computes may turn an interrupt into an error of its own
            console.error("interrupted")
            return 130
        text = f"unexpected {type(error).__name__}: {error}\n{DEFECT}"
        return console.failed(text + ("" if options.verbose > 1 else ALSO), error)
    finally:
        console.close()


__all__ = ["COMMANDS", "command_parser", "main"]

"""Plays a page: runs its steps in order in the current folder, and writes what each printed, as a JSON list.

    python -m tests.docs.player PAGE OUT [--mxnet]

With `--mxnet` the page's Python, without the steps marked as graphir's own, is run by live MXNet: its `mx` instead of
graphir's. A process of its own for each page, because MXNet's automatic names count through a process.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import shlex
import subprocess
import sys
import traceback
import warnings
from itertools import zip_longest
from pathlib import Path
from typing import Any

from .pages import Step, steps

IMPORT = "from graphir.converters.mxnet import mx\n"
ASKED = "echo $?"
CODES = {"graphir: error": 1, "DIFFERENT: ": 4, "DISAGREE: ": 4, "NOT PROVEN: ": 5}  # what tells an exit code by itself
OLD_NUMPY = (bool, object, int, float, complex, str)  # names that MXNet 1.9.1 uses and NumPy 1.24 removed


def _warn(message: object, category: type[Warning], *_: object) -> None:
    print(f"{category.__name__}: {message}")


class Player:
    """The namespace of a page, and the exit code of its last command."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self.code = 0

    def play(self, step: Step) -> str:
        """What a step prints to both streams, with the traceback of an error that it does not catch."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), warnings.catch_warnings():
            warnings.simplefilter("always")
            if self._live:
                warnings.filterwarnings("ignore", module=r"mxnet\.")  # what MXNet's code has to say to MXNet's code
            warnings.showwarning = _warn  # type: ignore[assignment]
            try:
                self._run(step)
            except Exception:  # a page shows it, as an interpreter does, and it is compared with what the page says
                traceback.print_exc()
        return printed.getvalue()

    def _run(self, step: Step) -> None:
        if step.language == "file":
            name, _, text = step.text.partition("\n")
            Path(name).write_text(text)
        elif step.text.lstrip().startswith(">>> "):
            self._examples(step)
        elif step.language == "python":
            exec(compile(step.text, "page", "exec", dont_inherit=True), self._names)
        elif step.text == ASKED:
            print(self.code)
        else:
            self._command(step.text)

    def _examples(self, step: Step) -> None:
        """Run the lines behind `>>>`; what fails is printed."""
        examples = doctest.DocTestParser().get_doctest(step.text, self._names, "page", "page", 0)
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, clear_globs=False)
        self._names = examples.globs

    def _command(self, text: str) -> None:
        from graphir.cli import main

        program, *arguments = shlex.split(text, comments=True)
        into = arguments[-1] if arguments[-2:-1] == [">"] else ""
        if into:
            del arguments[-2:]
        if program == "python":
            done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
            print(done.stdout + done.stderr, end="")
            self.code = done.returncode
        elif program == "graphir":
            out = open(into, "w") if into else contextlib.nullcontext(sys.stdout)  # noqa: SIM115  it is closed below
            with out as stream, contextlib.redirect_stdout(stream):
                self.code = main(arguments)
        else:
            raise ValueError(f"only `graphir ...`, `python ...` and `echo $?` are run, not {text!r}")


def with_code(printed: str, code: int) -> str:
    """What was printed, and the exit code behind it where it tells more than that."""
    told = next((told for said, told in CODES.items() if said in printed), 0)
    return printed if code == told else f"{printed}(exit code {code})\n"


def _use_mxnet() -> None:
    """Import live MXNet, which warns and logs of itself while it is imported and run: no page speaks of that."""
    import numpy as np

    os.environ |= {"MXNET_SUBGRAPH_BACKEND": "NONE", "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in OLD_NUMPY:
            if not hasattr(np, alias.__name__):
                setattr(np, alias.__name__, alias)
        importlib.import_module("mxnet")


def main(page: str, out: str, *options: str) -> None:
    """Play a page and write what its steps printed, null for those that were not run."""
    live = "--mxnet" in options
    if live:
        _use_mxnet()
    else:
        from graphir.converters.mxnet import references

        setattr(references, "live_python", lambda: None)  # noqa: B010
    os.environ["COLUMNS"] = "100"
    player = Player(live)
    printed: list[str | None] = []
    played = steps(Path(page).read_text())
    for step, after in zip_longest(played, played[1:]):
        if live and (step.own or step.language != "python"):
            printed.append(None)
            continue
        if live:
            step = Step(step.language, step.text.replace(IMPORT, "import mxnet as mx\n"), step.line, step.wanted)
        told = player.play(step)
        asked = ASKED in (step.text, "" if after is None else after.text)
        printed.append(told if step.language != "console" or asked else with_code(told, player.code))
    Path(out).write_text(json.dumps(printed))


if __name__ == "__main__":
    main(*sys.argv[1:])

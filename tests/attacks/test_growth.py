"""Work grows as the length of a list in a file does, whichever list and whichever command."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphir.cli import main
from tests.growth import is_near_linear

from .long_models import FORMATS, Build

COMMANDS: dict[str, list[str]] = {
    "convert": ["convert", "MODEL", "result.onnx", "--report", "report.html"],
    "plot": ["plot", "MODEL", "plot.dot"],
    "diff": ["diff", "MODEL", "MODEL"],
    "memory": ["memory", "MODEL"],
    "check": ["check", "MODEL"],
    "summary": ["summary", "MODEL"],
}
SMALL, LARGE = 100, 800
# Lists of which a step for each pair of entries shows only where they are long: by format, list and command.
LONG = {("mxnet", "heads on one node", "convert"), ("mxnet", "heads on one node", "plot"),
        ("onnx", "inputs that nothing uses", "memory")}  # fmt: skip
LONG_SMALL, LONG_LARGE = 500, 60_000
# A shape of more axes than there are, which only a plot lets pass, and sizes without numbers, which `memory` needs.
REFUSED = {("mxnet", "a shape", command) for command in COMMANDS.keys() - {"plot"}} | {
    ("onnx", name, "memory") for name in ("named sizes", "attributes of a node", "an attribute")
}


@dataclass(frozen=True)
class Case:
    """A list of a format, and what is done with the model."""

    format: str
    name: str
    command: str
    build: Build

    @property
    def key(self) -> tuple[str, str, str]:
        """Where tables have it."""
        return self.format, self.name, self.command


CASES = [
    Case(kind, name, command, build)
    for kind, lists in FORMATS.items() for name, build in lists.items() for command in COMMANDS
]  # fmt: skip


@pytest.mark.one_of(8, by="case.name")
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case.key))
def test_work_grows_with_length(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    counts = (LONG_SMALL, LONG_LARGE) if case.key in LONG else (SMALL, LARGE)
    models = {}
    for count in counts:
        (tmp_path / str(count)).mkdir()
        models[count] = str(case.build(count, tmp_path / str(count)))

    def work(count: int) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main([models[count] if word == "MODEL" else word for word in COMMANDS[case.command]])
        assert code == (case.key in REFUSED)

    assert is_near_linear(work, *counts)

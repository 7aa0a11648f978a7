"""The command, called in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graphir.cli import main

from .broken import intact


@dataclass(frozen=True)
class Outcome:
    """What a call of the command gave."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def graphir(capsys: pytest.CaptureFixture[str]) -> Command:
    """`graphir("convert", source, target)` calls the command."""

    def call(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """A copy of the digits checkpoint; its prefix."""
    return intact(tmp_path / "model")

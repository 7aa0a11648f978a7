"""The README's worked example is what the command prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from graphir.cli import main

ROOT = Path(__file__).resolve().parent.parent


def without_figures(text: str) -> str:
    """The text with every number as `#` and every run of blanks as one: figures differ between machines, and so does
    whether a floor had to be measured (`-`)."""
    plain = re.sub(r"(?<![A-Za-z_])\d[\d.,]*(e[-+]?\d+)?|(?<=  )-(?=  )", "#", text)
    return re.sub(r"[ \n]+", " ", plain).strip()


def test_worked_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "models" / "digits", tmp_path / "models" / "digits")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("graphir.converters.mxnet.references.live_python", lambda: None)
    readme = (ROOT / "README.md").read_text()
    command = re.search(r"bin/graphir (convert .*?)\n```", readme, re.DOTALL)
    assert command is not None
    assert main(command[1].replace("\\\n", " ").split()) == 0
    example = re.search(r"```\n(digits-symbol\.json .*?)\n```", readme, re.DOTALL)
    assert example is not None
    assert without_figures(capsys.readouterr().out) == without_figures(example[1])

"""The README's worked example is what the command prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from graphir.cli import main
from tests.docs.pages import difference

ROOT = Path(__file__).resolve().parent.parent


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
    assert not difference(example[1], capsys.readouterr().out)


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 120

"""docs/symbol_api.md: what it shows is what is printed."""

from __future__ import annotations

import doctest
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


def test_the_page_on_the_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "models" / "digits", tmp_path / "models" / "digits")
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "symbol_api.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
    assert tried > 30

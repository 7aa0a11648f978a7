"""What the tests of written modules share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.converters.pytorch.cases import Case, Check
from tests.converters.pytorch.running import need_torch

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of written modules want torch, which is a live framework."""
    here = str(HERE)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Check]:
    """Runs a case; behind the last one of a file, `ruff format` leaves the texts of all as they are."""
    need_torch()
    folder: Path = tmp_path_factory.mktemp("texts")
    names: dict[str, str] = {}

    def run(case: Case) -> str:
        text = case.run()
        name = f"case{len(names)}.py"
        names[name] = str(case)
        (folder / name).write_text(text, encoding="ascii")
        return text

    yield run
    for words in (["format", "--diff"], ["check", "--output-format=concise"]):
        command = [sys.executable, "-m", "ruff", *words, "--isolated", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout}\n{names}"

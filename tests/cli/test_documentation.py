"""The commands that docs/ shows behind a dollar sign run, and print what stands below them."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.requirements import missing, shared_folder

from .conftest import Command

ROOT = Path(__file__).parents[2]
GOLDEN = "resnet18_v2_symbol.json"
PAGES = {
    "cost.md": 1, "half_precision.md": 1, "memory.md": 4, "parts.md": 3, "plot.md": 4, "registry.md": 2, "verify.md": 4,
}  # fmt: skip
CODES = {"graphir: error": 1, "DIFFERENT: ": 4, "NOT PROVEN: ": 5}


class Example(NamedTuple):
    """A command without its name, and what stands below it; a line of three dots stands for any lines."""

    command: str
    printed: str


def examples(page: str) -> list[Example]:
    """Those of a page, whether they are indented or fenced."""
    found = []
    text = (ROOT / "docs" / page).read_text()
    for block in re.findall(r"^```[a-z]*\n((?:(?!```).*\n)*)```$|((?:^    .*\n|^\n(?=    ))+)", text, re.MULTILINE):
        shown = textwrap.dedent(block[0] or block[1])
        for command, printed in re.findall(r"^\$ graphir (.*)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE):
            found.append(Example(command, printed))
    return found


def differs(printed: str, told: str) -> str:
    """The first part of what is shown that was not printed behind the one before it; "" if there is none."""
    parts = [part.strip("\n") for part in re.split(r"^ *\.\.\.\n", printed, flags=re.MULTILINE)]
    if len(parts) == 1 and printed and told.strip("\n") != parts[0]:
        return printed
    for part in filter(None, parts):
        _, met, told = told.partition(part)
        if not met:
            return part
    return ""


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page(
    page: str, graphir: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "models").symlink_to(ROOT / "models")
    for file in (ROOT / "models" / "digits").glob("digits-*"):
        shutil.copy(file, tmp_path)
    assert graphir("convert", "digits-symbol.json", "digits.onnx").code == 0
    shown = examples(page)
    assert len(shown) == PAGES[page]
    if any(GOLDEN in command for command, _ in shown):
        shutil.copy(_golden(), tmp_path)
    for command, printed in shown:
        told = graphir(*command.split())
        assert told.code == next((code for said, code in CODES.items() if said in printed), 0), (command, told.err)
        assert differs(printed, told.out + told.err) == "", command


def _golden() -> Path:
    folder = shared_folder() or missing("shared", "no folder `shared` with golden files beside the repository")
    return folder / "golden" / GOLDEN


@pytest.mark.parametrize(
    "printed, told, first",
    [
        ("a\nb\n", "a\nb\n", ""),
        ("a\n", "a\nb\n", "a\n"),
        ("a\n...\n", "a\nb\n", ""),
        ("...\nb\n...\na\n", "a\nb\n", "a"),
        ("  c\n  ...\n", "a\nb\n", "  c"),
        ("", "a\n", ""),
    ],
)
def test_what_is_shown_is_compared(printed: str, told: str, first: str) -> None:
    assert differs(printed, told) == first

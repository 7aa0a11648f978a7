"""What users read is plain English: the README, the docs, every --help, and the names and one-line texts of the API."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphir
from graphir.cli import COMMANDS, command_parser
from graphir.decisions import DecisionKind

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Words and phrases that a reader who knows the field stumbles over, and what to write instead.
PHRASES = {
    r"roads?": "path, direction or mode",
    r"strangers?'?s?": "untrusted",
    r"foreign text": "untrusted text",
    r"fresh name": "unique name",
    r"lack(s|ed|ing)?": "does not have, is missing",
    r"hopeless": "cannot be lowered",
    r"twins?": "pair, near-duplicate",
    r"said|told": "written, reported",
    r"asked": "requested, run, compared",
    r"anew": "again, as a verb: rerun, rebuild",
    r"passed over": "skipped",
    r"held against": "compared with",
    r"without further ado": "automatically",
    r"stays? open": "stay dynamic",
    r"not a number": "NaN",
    r"as it is asked|what is asked for|what it is of": "the noun: request, operand",
    r"in the way at once": "every obstacle",
    r"no ONNX file says|can(not)? be said": "ONNX cannot express, can be expressed",
}
UNWANTED = re.compile("|".join(rf"(?<![\w.])(?:{phrase})(?!\w)" for phrase in PHRASES), re.IGNORECASE)
# Words that no public name has, as parts between underscores.
IN_NAMES = {"again", "asked", "beside", "farther", "found", "hopeless", "lacks", "made", "road", "roads",
            "said", "stranger", "told", "twins", "unmoved"}  # fmt: skip


def prose(text: str) -> str:
    """Return a page without its code, whose names are not prose."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def unwanted(text: str) -> list[str]:
    """Return the unwanted phrases of a text, in order."""
    return [match[0] for match in UNWANTED.finditer(text)]


@pytest.mark.parametrize(
    "text, phrases",
    [
        ("Two roads that meet.", ["roads"]),
        ("A stranger's file is held\nagainst another.", ["stranger's"]),
        ("It is asked without further ado.", ["asked", "without further ado"]),
        ("`row.asked` and unit in the last place.", []),
        ("A broad slack, a code block.", []),
    ],
)
def test_what_is_unwanted(text: str, phrases: list[str]) -> None:
    assert unwanted(prose(text)) == phrases


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    assert unwanted(prose(page.read_text(encoding="utf-8"))) == []


def test_terminal_texts_on_pages() -> None:
    """What commands print, as the pages show it."""
    shown = {page.name: re.findall(r"```(?:console)?\n(.*?)```", page.read_text(), re.DOTALL) for page in PAGES}
    assert {name: words for name, blocks in shown.items() if (words := unwanted("\n".join(blocks)))} == {}


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str) -> None:
    assert unwanted(command_parser(command).format_help()) == []


def test_decisions() -> None:
    assert unwanted(" ".join(f"{kind}: {kind.meaning}" for kind in DecisionKind)) == []


def public() -> Iterator[tuple[str, object]]:
    """Yield the public names of the package, of its graph and of its reports, with what they stand for."""
    for name in graphir.__all__:
        member = getattr(graphir, name)
        yield name, member
        if inspect.isclass(member):
            yield from ((f"{name}.{key}", value) for key, value in vars(member).items() if not key.startswith("_"))


def test_public_names() -> None:
    assert [name for name, _ in public() if IN_NAMES & set(re.split(r"[._]", name.lower()))] == []


def test_public_docstrings() -> None:
    """The first line of each."""
    texts = {name: (inspect.getdoc(member) or "").split("\n\n")[0] for name, member in public() if callable(member)}
    assert {name: words for name, text in texts.items() if (words := unwanted(prose(text)))} == {}

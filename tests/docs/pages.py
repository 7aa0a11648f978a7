"""The code blocks of a page of the documentation, and whether what was printed is what the page shows.

A page holds `python` blocks, which share one namespace, `console` blocks, whose lines `$ graphir ...` are commands, and
`diff` blocks, whose lines without `-` are run as Python. What a Python block prints stands in the block without a
language that follows it; what a command prints stands below it. A line `...` stands for any lines, `...` in a line for
any text. Warnings are printed as `UserWarning: text`. Another kind of block is refused, because nothing would run it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

OWN = "<!-- not in MXNet -->"  # before a Python block that live MXNet cannot run, or prints in other words

# Seconds, releases and differences of rounding are the machine's: everything else on a page is compared as it stands.
_MEASURED = re.compile(r"\d+(\.\d+)?e-\d+|\d+\.\d+\.\d+|\d+(\.\d+)? s\b")
# So is on which of several sets of inputs a result that passes differs most: its shape, its scale, its floor.
_COMPARED = re.compile(r"^(  \S.*?)  +(?:[\dx]+|scalar)(?:  +[-\d.e+]+){5}  +(?:noise|identical)$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """Something to run, Python or one command with its arguments; its line on the page, and what it shall print."""

    language: str
    text: str
    line: int
    wanted: str
    own: bool = False


@dataclass(frozen=True)
class _Block:
    language: str
    lines: tuple[str, ...]
    line: int
    own: bool

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def steps(page: str) -> list[Step]:
    """What a page runs, in order. Raises ValueError, with the line, for a block that is neither run nor an output."""
    found: list[Step] = []
    blocks = _blocks(page)
    for number, block in enumerate(blocks):
        if block.language in ("python", "diff"):
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            wanted = after.text if after is not None and not after.language else ""
            found.append(Step("python", _python(block), block.line, wanted, block.own))
        elif block.language == "console":
            found += _commands(block)
        elif block.language or number == 0 or blocks[number - 1].language not in ("python", "diff"):
            raise ValueError(f"line {block.line}: nothing runs a block {block.language or 'without a language'} here")
    return found


def _blocks(page: str) -> list[_Block]:
    found: list[_Block] = []
    language, start, own = "", 0, False
    gathered: list[str] | None = None
    for number, line in enumerate(page.splitlines(), 1):
        if gathered is None:
            if line.startswith("```"):
                language, start, gathered = line[3:].strip(), number, []
            elif line.strip():
                own = line.strip() == OWN
        elif line.rstrip() == "```":
            found.append(_Block(language, tuple(gathered), start, own))
            gathered, own = None, False
        else:
            gathered.append(line)
    if gathered is not None:
        raise ValueError(f"line {start}: the block is not closed")
    return found


def _python(block: _Block) -> str:
    """The block's program, in which each line has the number that it has on the page."""
    lines: Sequence[str] = block.lines
    if block.language == "diff":
        lines = [line[1:] if line[:1] in ("+", " ") else "" for line in lines]
    return "\n" * block.line + "".join(f"{line}\n" for line in lines)


def _commands(block: _Block) -> list[Step]:
    found: list[Step] = []
    command, start, printed = "", block.line, ""
    for number, line in enumerate([*block.lines, "$ "], block.line + 1):
        if command.endswith("\\\n"):
            command += f"{line}\n"
        elif line.startswith("$ "):
            if command:
                found.append(Step("console", command.replace("\\\n", " ").strip(), start, printed))
            elif printed:
                raise ValueError(f"line {block.line}: a console block begins with a command, a line `$ ...`")
            command, start, printed = f"{line[2:]}\n", number, ""
        else:
            printed += f"{line}\n"
    return found


def difference(wanted: str, found: str) -> str:
    """What differs between a page and what was printed, to be read; empty where they agree."""
    if _MEASURED.search(wanted):
        wanted, found = _without_measured(wanted), _without_measured(found)
    wanted, found = _without_ends(wanted), _without_ends(found)
    if re.fullmatch("".join(map(_pattern, wanted.splitlines())), found):
        return ""
    lines = difflib.unified_diff(wanted.splitlines(), found.splitlines(), "on the page", "printed", n=1, lineterm="")
    return "\n".join(lines)


def _pattern(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*\n)*"
    return ".*".join(re.escape(part) for part in line.split("...")) + r"\n"


def _without_measured(text: str) -> str:
    """The text with what a machine measured as `#` and every run of blanks, which such figures widen, as one."""
    return re.sub(" +", " ", _MEASURED.sub("#", _COMPARED.sub(r"\1 # passes", text)))


def _without_ends(text: str) -> str:
    """The text without blanks at the ends of lines, which no page keeps, and without empty lines around it."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n"


__all__ = ["OWN", "Step", "difference", "steps"]

"""The code blocks of a page of the documentation, and whether what was printed is what the page shows.

A page holds `python` blocks, which share one namespace, `console` blocks, whose lines `$ ...` are commands, and `diff`
blocks, whose lines without `-` are run as Python. What a Python block prints stands in the block without a language
that follows it, or, in a block of `>>>`, below each line; what a command prints stands below it. A line `...` stands
for any lines, `...` in a line for any text. Warnings are printed as `UserWarning: text`.

The comment right before a block, which no reader sees, can say what else is done with it:

    <!-- name.py -->             it is written as that file
    <!-- ci: name -->            .ci/run runs it; what it prints, in the block behind it, has a test of its own
    <!-- not run: the reason --> nothing runs it

A reader can type a page along in a fresh clone: what it takes for granted is made by blocks that are shown. Another
kind of block is refused, because nothing would run it, and so is one that is indented.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

OWN = "<!-- not in MXNet -->"  # before a Python block that live MXNet cannot run, or prints in other words

# Seconds, releases and differences of rounding are the machine's: everything else on a page is compared as it stands.
_MEASURED = re.compile(r"\d+(\.\d+)?e-\d+|\d+\.\d+\.\d+|\d+(\.\d+)? s\b")
# So is on which of several sets of inputs a result that passes differs most: its set, its shape, its scale, its floor.
_COMPARED = re.compile(
    r"^(  \S.*?)(?:  +[\w.-]+)?  +(?:[\dx]+|scalar)(?:  +[-\d.e+]+){5}  +(?:equal|identical)$", re.MULTILINE
)


_LISTED = re.compile(r" *([-*]|\d+\.) ")
_FILE = re.compile(r"<!-- ([\w.-]+\.\w+) -->")
_CI = re.compile(r"<!-- ci: (\w+) -->")
_NOT_RUN = re.compile(r"<!-- not run: (.{12,}) -->")


@dataclass(frozen=True)
class Step:
    """What to do, its line on the page, and what it shall print.

    The language is `python`, `console` (one command) or `file`: the text's first line is its name.
    """

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
    comment: str

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def steps(page: str) -> list[Step]:
    """What a page runs, in order. Raises ValueError, with the line, for a block that is neither run nor an output."""
    found: list[Step] = []
    before = ""
    blocks = _blocks(page)
    for number, block in enumerate(blocks):
        if block.language.startswith("{") or _CI.fullmatch(block.comment) or _NOT_RUN.fullmatch(block.comment):
            before = "ci" if _CI.fullmatch(block.comment) else ""
            continue
        if named := _FILE.fullmatch(block.comment):
            found.append(Step("file", f"{named[1]}\n{block.text}", block.line, ""))
        elif block.language in ("python", "diff"):
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            wanted = after.text if after is not None and not (after.language or after.comment) else ""
            found.append(Step("python", _python(block), block.line, wanted, block.comment == OWN))
        elif block.language == "console":
            found += _commands(block)
        elif block.language or before not in ("python", "diff", "ci"):
            raise ValueError(f"line {block.line}: nothing runs a block {block.language or 'without a language'} here")
        before = block.language
    return found


def reasons(page: str) -> list[str]:
    """Why the blocks that nothing runs are not run."""
    return [found[1] for block in _blocks(page) if (found := _NOT_RUN.fullmatch(block.comment))]


def run_by_ci(page: str) -> list[str]:
    """The names under which .ci/run takes blocks of the page."""
    return [found[1] for block in _blocks(page) if (found := _CI.fullmatch(block.comment))]


def _blocks(page: str) -> list[_Block]:
    found: list[_Block] = []
    language, start, comment, end = "", 0, "", ""
    gathered: list[str] | None = None
    listed = empty = False
    for number, line in enumerate(page.splitlines(), 1):
        if gathered is not None:
            if line.rstrip() == end:
                found.append(_Block(language, tuple(gathered), start, comment))
                gathered, comment = None, ""
            else:
                gathered.append(line)
        elif line.startswith("```"):
            end = "`" * (len(line) - len(line.lstrip("`")))
            language, start, gathered = line.strip("`").strip(), number, []
        elif line.startswith("<!--") and "-->" not in line:
            raise ValueError(f"line {number}: no reader sees this comment: what a page needs, shown blocks make")
        elif line.strip():
            if line.startswith("    ") and empty and not listed:
                raise ValueError(f"line {number}: nothing runs a block that is indented: fence it")
            listed = bool(_LISTED.match(line)) or (listed and (line.startswith(" ") or not empty))
            comment = line.strip() if line.startswith("<!--") else ""
        empty = not line.strip()
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


__all__ = ["OWN", "Step", "difference", "reasons", "run_by_ci", "steps"]

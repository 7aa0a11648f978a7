"""Comparing what tools say with what is true."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graphir.types import TensorType, Unknown

from .models import Case, shared_models, suite, with_constants, with_symbols
from .tools import Found, ask, tools

VERDICTS = ("known", "partial", "unknown", "wrong")
ASKED = 8
"""Where graphir knows all, a thrifty comparison asks the other tools about one case of so many."""
PASSES: dict[str, Callable[[Case], Case]] = {
    "as declared": lambda case: case,
    "constants given": with_constants,
    "symbolic sizes": lambda case: with_symbols(with_constants(case)),
}


@dataclass
class Score:
    """The counts of one pass, and what there is to say of graphir.

    `failures` are models that graphir gave up on, `wrong` its wrong values, `beaten` those of which another tool knows
    more, `open` those that it does not know fully.
    """

    models: int = 0
    values: int = 0
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    beaten: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    gave_up: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, object]:
        """The numbers, for a file."""
        tools = {name: dict(counts) for name, counts in self.verdicts.items()}
        return {"models": self.models, "values": self.values, "tools": tools}


def cases(shared: Path | None, name: str = "") -> Iterator[Case]:
    """The models of the suite, and the real ones where their folder is."""
    for case in suite():
        if name in case.name:
            yield case
    if shared is not None and (shared / "models").is_dir():
        for case in shared_models(shared):
            if name in case.name:
                yield case


def verdict(found: TensorType | None, true: TensorType) -> str:
    """Whether a type is the true one: `known` fully, in part, not at all, or `wrong`."""
    if found is None:
        return "unknown"
    if found.dtype not in (None, true.dtype):
        return "wrong"
    if found.shape is None:
        return "unknown"
    assert true.shape is not None
    if len(found.shape) != len(true.shape):
        return "wrong"
    pairs = list(zip(found.shape, true.shape, strict=True))
    if any(not isinstance(dim, Unknown) and dim != size for dim, size in pairs):
        return "wrong"
    return "known" if found.dtype is not None and all(dim == size for dim, size in pairs) else "partial"


def knows_more(other: TensorType | None, own: TensorType | None) -> bool:
    """Whether a right type says anything that ours does not."""
    if other is None:
        return False
    if own is None or (own.dtype is None and other.dtype is not None):
        return True
    if other.shape is None:
        return False
    if own.shape is None:
        return True
    return any(isinstance(mine, Unknown) and not isinstance(theirs, Unknown)
               for mine, theirs in zip(own.shape, other.shape, strict=True))  # fmt: skip


def compare(case: Case, score: Score, *, thrifty: bool = False) -> None:
    """Ask all tools about a case and add to the score.

    `thrifty`: where graphir knows every value, the other tools are asked about one case of `ASKED` and elsewhere taken
    to know every value too, which is the most that they can.
    """
    score.models += 1
    score.values += len(case.truth)
    answers = _answers(case, thrifty)
    for name, (_, error) in answers.items():
        score.gave_up[name] += bool(error)
    own, error = answers["graphir"]
    if error:
        score.failures.append(f"GAVE UP {case.kind}/{case.name}: {error[:300]}")
    operators = {name: node.op_type for node in case.model.graph.node for name in node.output}
    for value, true in case.truth.items():
        verdicts = {name: verdict(found.get(value), true) for name, (found, _) in answers.items()}
        for name, text in verdicts.items():
            score.verdicts.setdefault(name, Counter())[text] += 1
        where = f"{case.kind}/{case.name} {value} ({operators.get(value)}): {own.get(value)}, truth {true}"
        if verdicts["graphir"] == "wrong":
            score.wrong.append(f"WRONG {where}")
        elif verdicts["graphir"] != "known":
            better = {
                name: str(found[value])
                for name, (found, _) in answers.items()
                if verdicts[name] in ("known", "partial") and knows_more(found.get(value), own.get(value))
            }
            (score.beaten if better else score.open).append(f"{'LESS' if better else 'OPEN'} {where} {better or ''}")


def _answers(case: Case, thrifty: bool) -> dict[str, tuple[Found, str]]:
    """What each tool says of a case, and its error if it gave up."""
    asked = tools()
    own = ask(asked["graphir"], case)
    if thrifty and zlib.crc32(case.name.encode()) % ASKED and is_whole(own[0], case.truth):
        return {name: own if name == "graphir" else (case.truth, "") for name in asked}
    return {name: own if name == "graphir" else ask(tool, case) for name, tool in asked.items()}


def is_whole(found: Found, truth: Found) -> bool:
    """Whether every value is known."""
    return all(verdict(found.get(value), true) == "known" for value, true in truth.items())


def table(score: Score) -> str:
    """The counts as text, one line a tool."""
    lines = [f"{'':12} {'known':>7} {'share':>7} {'partial':>8} {'unknown':>8} {'wrong':>6} {'gave up':>8}"]
    for name, counts in score.verdicts.items():
        known, partial, unknown, wrong = (counts[text] for text in VERDICTS)
        share = f"{100 * known / max(score.values, 1):.2f}%"
        lines.append(
            f"{name:12} {known:7} {share:>7} {partial:8} {unknown:8} {wrong:6} {score.gave_up[name]:8}"
        )
    return "\n".join(lines)


__all__ = ["PASSES", "Score", "cases", "compare", "knows_more", "table", "verdict"]

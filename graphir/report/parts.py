"""What several reports say in the same words: decisions, operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.graph import Decision
from graphir.safety.foreign_text import one_line
from graphir.structure.look import Style, paint

from .text import plural, table, wrapped


def decisions_text(groups: Mapping[str, Sequence[Decision]], *, verbose: bool) -> str:
    """Return decisions by kind: all of them, or of each kind the count and one example."""
    total = sum(len(decisions) for decisions in groups.values())
    hidden = not verbose and total > len(groups)
    head = plural(total, "decision") + (", one of each kind shown (-v shows all)" if hidden else "") + ":"
    lines = [paint(head, Style.HEADING)]
    for kind, decisions in groups.items():
        count = f" ({len(decisions)})" if len(decisions) > 1 else ""
        if not verbose:
            lines.append(wrapped(f"{kind}{count}: {_about(decisions[0])}"))
            continue
        lines.append(f"  {one_line(kind)}{count}")
        lines += [wrapped(_about(decision), first="    ") for decision in decisions]
    return "\n".join(lines)


def simplified_text(counts: Mapping[str, int]) -> str:
    """Return what made a graph smaller, by reason, the most frequent first."""
    head = paint(f"{plural(sum(counts.values()), 'change')} made it smaller:", Style.HEADING)
    return "\n".join([head, *(wrapped(f"{count:,}: {why}") for why, count in by_count(counts).items())])


def operators_text(before: Mapping[str, int], after: Mapping[str, int], source: str, target: str) -> str:
    """Return two columns of operators with their counts, most frequent first."""
    left = [*by_count(before).items(), ("total", sum(before.values()))]
    right = [*by_count(after).items(), ("total", sum(after.values()))]
    length = max(len(left), len(right))
    blank: tuple[str, int | str] = ("", "")
    rows = [
        (*(left[row] if row < len(left) else blank), "", *(right[row] if row < len(right) else blank))
        for row in range(length)
    ]
    return table((source, "nodes", "->", target, "nodes"), rows, right=(1, 4))


def by_count(operators: Mapping[str, int]) -> dict[str, int]:
    """Operators, the most frequent first."""
    return dict(sorted(operators.items(), key=lambda entry: (-entry[1], entry[0])))


def _about(decision: Decision) -> str:
    return decision.text if decision.node in ("", "-") else f"{decision.node}: {decision.text}"

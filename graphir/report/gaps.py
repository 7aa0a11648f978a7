"""What stands between a model and a target, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line, printable
from graphir.structure.look import Style, paint
from graphir.structure.printed import Printed
from graphir.structure.record import record

from .parts import operators_text
from .text import plural, table, wrapped

if TYPE_CHECKING:
    from graphir.converters.formats import Ready, Source
    from graphir.errors import Gap
    from graphir.runtime.fallbacks import Fallbacks

NODES_SHOWN = 6


@record
class CheckReport(Printed):
    """What a check found: gaps in a `step` (`reading` or `writing`), or the model read and what it would become.

    `source` is what was checked, `target` a format, `asked` what was asked of it in words, `opset` the one that was
    asked for or would be written; `made_up` are the types of inputs that nothing states; `problems` is what else is
    wrong with a model that has gaps; `wanted` are options that a conversion needs, since not even the number of axes of
    some inputs is stated; `fallbacks` are the nodes that the requested provider does not run. It is true without gaps.
    """

    source: str
    target: str
    asked: str
    opset: int | None = None
    gaps: Sequence[Gap] = ()
    step: str = ""
    made_up: Mapping[str, str] = field(default_factory=dict)
    reading: Source | None = None
    ready: Ready | None = None
    problems: Sequence[str] = ()
    wanted: Sequence[str] = ()
    fallbacks: Fallbacks | None = None

    def __bool__(self) -> bool:
        return not self.gaps

    def to_text(self, *, verbose: bool = False) -> str:
        """Return every gap with its nodes, with `verbose` all of them; else the operators before and after."""
        if self.reading is None or self.ready is None:
            text = gaps_text(self.source, self.gaps, self.asked, self.step, verbose=verbose)
            others = [wrapped(printable(problem), first="  ", rest="    ") for problem in self.problems]
            return "\n\n".join([text, *others, made_up_text(self.made_up).rstrip()]).rstrip()
        from graphir.converters.table import FORMATS
        from graphir.inspection import title_of

        brand = FORMATS[self.target].brand
        written = f"{brand} {self.ready.version}".rstrip()
        made_by = self.reading.description.made_by
        given = f", given the shapes of its inputs, as in {' '.join(map(one_line, self.wanted))}" if self.wanted else ""
        return (
            f"{title_of(self.reading)}: {paint('everything converts', Style.GOOD)} to {written}{given}\n\n"
            + made_up_text(self.made_up)
            + operators_text(self.reading.operators, self.ready.operators, made_by, brand)
            + (f"\n\n{fallbacks_text(self.fallbacks)}" if self.fallbacks is not None else "")
        )

    def to_json(self) -> dict[str, Any]:
        """Return the check as plain data."""
        document: dict[str, Any] = {
            "source": self.source, "target": self.target, "opset": self.opset, "ok": bool(self),
            "gaps": gaps_json(self.gaps, self.step), "problems": list(self.problems), "made_up": dict(self.made_up),
            "wanted": list(self.wanted),
        }  # fmt: skip
        if self.reading is not None and self.ready is not None:
            document["source_operators"] = dict(sorted(self.reading.operators.items()))
            document["target_operators"] = dict(sorted(self.ready.operators.items()))
        if self.fallbacks is not None:
            document["placement"] = fallbacks_json(self.fallbacks)
        return document


def gaps_text(source: str, gaps: Sequence[Gap], target: str, step: str, *, verbose: bool) -> str:
    """Return every gap between the source and the target: operator, count, nodes, reason."""
    nodes = sum(len(gap.nodes) for gap in gaps)
    what = "cannot be read" if step == "reading" else f"cannot be written as {target}"
    operators = plural(len({gap.operator for gap in gaps}), "operator")
    lines = [f"{one_line(source)}: " + paint(f"{operators} in {plural(nodes, 'node')} {what}", Style.BAD)]
    for gap in gaps:
        shown = gap.nodes if verbose else gap.nodes[:NODES_SHOWN]
        more = f" and {len(gap.nodes) - len(shown)} more (-v lists all)" if len(shown) < len(gap.nodes) else ""
        lines += ["", f"  {one_line(gap.operator)}: {plural(len(gap.nodes), 'node')}"]
        lines.append(wrapped(", ".join(shown) + more, first="    ", rest="    "))
        lines.append(wrapped(gap.reason, first="    why: ", rest="      "))
    return "\n".join(lines)


def fallbacks_text(fallbacks: Fallbacks) -> str:
    """Return how many nodes run on the requested provider, and a table of the others."""
    rows = [tuple(map(one_line, row)) for row in fallbacks.table_rows()]
    keys = ("operator", "nodes", "runs on", "why")
    line = f"{fallbacks_line(fallbacks)}, as onnxruntime optimises the model"
    return f"{line}\n\n{table(keys, rows, right=(1,), flexible=(3,))}" if rows else line


def fallbacks_line(fallbacks: Fallbacks) -> str:
    """Return how many nodes run on the requested provider."""
    total, requested = sum(fallbacks.counts.values()), fallbacks.counts.get(fallbacks.first, 0)
    return f"{requested:,} of {plural(total, 'node')} run on {fallbacks.first}"


def fallbacks_json(fallbacks: Fallbacks) -> dict[str, Any]:
    """Return the placement as plain data."""
    return {
        "provider": fallbacks.first,
        "providers": dict(fallbacks.counts),
        "elsewhere": [
            {"name": item.node.name, "operator": item.node.operator, "provider": item.node.provider,
             "reason": item.reason}
            for item in fallbacks.nodes
        ],
    }  # fmt: skip


def made_up_text(made_up: Mapping[str, str]) -> str:
    """Return what was assumed of the inputs, "" if nothing was."""
    if not made_up:
        return ""
    shown = ", ".join(f"{name} is {type_}" for name, type_ in made_up.items())
    return wrapped(f"sizes that the model does not state were assumed: {shown}; set others with -i") + "\n\n"


def gaps_json(gaps: Sequence[Gap], step: str) -> list[dict[str, Any]]:
    """Return the gaps as plain data."""
    return [
        {
            "operator": gap.operator,
            "step": step,
            "reason": gap.reason,
            "count": len(gap.nodes),
            "nodes": list(gap.nodes),
        }
        for gap in gaps
    ]

"""The first layer that differs where no graph of a model can be had: by the names that both models know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphir.verification.report import Cause, VerificationReport

from .bisection import PROBES, first_divergence
from .known import Bench

if TYPE_CHECKING:
    from graphir.verification.grading.compare import Comparison

Operators = Mapping[str, tuple[str, tuple[str, ...]]]


def explain_by_names(report: VerificationReport, bench: Bench, outputs: Sequence[str], *, stepwise: bool) -> None:
    """Name the first layer that differs, in the order of computation, unless the outputs agree or have no layer before
    them that both models know. `stepwise` is as for `explain`."""
    known = {found.name: found for found in (*report.layers, *report.outputs)}
    target = next((name for name in outputs if name in known and not known[name].verdict.passes), None)
    if target is None:
        return
    made: Any = getattr(bench.reference, "structure", None)
    producers: Operators = {} if made is None else made.producers
    order = [name for name in bench.reference.values() if name in bench.layers or name == target]
    layers = [*order[: order.index(target)], target] if target in order else [*order, target]

    def differ(names: Sequence[str]) -> dict[str, bool]:
        fresh = [name for name in names if name not in known]
        found: list[Comparison] = bench.evaluate((), fresh)[1] if fresh else []
        known.update({one.name: one for one in found})
        return {name: name in known and not known[name].verdict.passes for name in names}

    def before(name: str) -> list[str]:
        return _nearest(name, producers, bench.layers)

    name = first_divergence(layers, differ, before if producers else None, PROBES if stepwise else len(layers) + 1)
    if name is not None:
        follows = tuple(one for one in order if one != name and one in known and not known[one].verdict.passes)
        report.causes.append(Cause(name, _operators(name, bench, producers), follows))


def _nearest(name: str, producers: Operators, layers: Mapping[str, str]) -> list[str]:
    """The nearest values before one that both models know."""
    found: dict[str, None] = {}
    pending, seen = [name], {name}
    while pending:
        for operand in producers.get(pending.pop(), ("", ()))[1]:
            if operand in seen or operand not in producers:
                continue
            seen.add(operand)
            if operand in layers:
                found[operand] = None
            else:
                pending.append(operand)
    return list(found)


def _operators(name: str, bench: Bench, producers: Operators) -> str:
    ours = producers.get(name, ("",))[0]
    theirs = bench.candidate.structure.producers.get(bench.layers.get(name, ""), ("",))[0]
    said = " / ".join(dict.fromkeys(kind for kind in (ours, theirs) if kind)) or "a layer"
    return f"{said}: the first that differs of those that both models know"


__all__ = ["explain_by_names"]

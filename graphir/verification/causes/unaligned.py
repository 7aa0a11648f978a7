"""The first layer that differs where no graph of a model can be had: by the names that both models know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphir.verification.report import Cause, VerificationReport

if TYPE_CHECKING:
    from graphir.verification.grading.compare import Comparison
    from graphir.verification.running.bench import Bench

# A run costs the same whether it is asked for one value or for a few; what is held at a time grows with them.
PROBES = 15
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


def first_divergence(
    layers: Sequence[str],
    differ: Callable[[Sequence[str]], Mapping[str, bool]],
    before: Callable[[str], Sequence[str]] | None = None,
    probes: int = PROBES,
) -> str | None:
    """The first of the layers, in the order of computation, that differs while what it is computed from does not.

    `differ` says of some layers which of them differ; it is asked with at most `probes` names at a time, and about as
    often as the logarithm of their number to the base `probes` + 1. `before` names the layers that a layer is computed
    from: a difference that passes beside those that were asked (another branch, or one that vanished on the way) is
    followed back through them. None if the last layer and all that were asked agree.

    >>> wrong = set("efghij")
    >>> first_divergence("abcdefghij", lambda names: {name: name in wrong for name in names}, probes=2)
    'e'
    """
    asked: dict[str, bool] = {}

    def ask(names: Sequence[str]) -> list[str]:
        """Those that differ, in the order of the names."""
        for start in range(0, len(names), probes):
            fresh = [name for name in names[start : start + probes] if name not in asked]
            asked.update(differ(fresh) if fresh else {})
        return [name for name in names if asked[name]]

    place = {name: index for index, name in enumerate(layers)}
    found = _between(layers, -1, len(layers) - 1, probes, ask)
    while found is not None and before is not None:
        known = [place[name] for name in before(found) if name in place]
        earlier = [layers[index] for index in sorted(known) if index < place[found]]
        wrong = ask(earlier)
        if not wrong:
            break
        agreeing = [place[name] for name in earlier if not asked[name] and place[name] < place[wrong[0]]]
        found = _between(layers, max(agreeing, default=-1), place[wrong[0]], probes, ask)
    return found


def _between(
    layers: Sequence[str], low: int, high: int, probes: int, ask: Callable[[Sequence[str]], list[str]]
) -> str | None:
    """The layer of the range (low, high] that differs while the one before it agrees; None if its last agrees."""
    if high < 0 or not ask([layers[high]]):
        return None
    while high - low > 1:
        count = min(probes, high - low - 1)
        places = sorted({low + (high - low) * (turn + 1) // (count + 1) for turn in range(count)} - {low, high})
        wrong = ask([layers[place] for place in places])
        if wrong:
            high = next(place for place in places if layers[place] == wrong[0])
        low = max((place for place in places if place < high), default=low)
    return layers[high]


__all__ = ["PROBES", "explain_by_names", "first_divergence"]

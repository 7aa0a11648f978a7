"""Where two models begin to differ, without asking for every value between: by bisection over their common layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

# A run costs the same whether it is asked for one value or for a few; what is held at a time grows with them.
PROBES = 15


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


__all__ = ["PROBES", "first_divergence"]

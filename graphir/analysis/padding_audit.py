"""Two models' windows held against each other: where they do not read the same data, and what would mend it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphir.analysis.alignment import align
from graphir.analysis.padding_fixes import PLAIN, Fixes, by, fill_of, listed, rounding
from graphir.analysis.skeleton import loose_kind
from graphir.analysis.windows import Pads, SlidingWindow, prepared
from graphir.graph import Graph, Node
from graphir.padding import Same, SameMode, resolve

Pair = tuple[SlidingWindow | None, SlidingWindow | None]


@dataclass(frozen=True)
class Disagreement:
    """One thing about a pair of windows that differs: of what kind, in a sentence, and how the second model is mended.

    Kinds: missing, operator, kernel, stride, dilation, padding, ceil, divisor, filters.
    """

    kind: str
    text: str
    fix: str


@dataclass(frozen=True)
class ComparedWindows:
    """A pair of windows, one of which may be absent, and what disagrees."""

    left: SlidingWindow | None
    right: SlidingWindow | None
    disagreements: tuple[Disagreement, ...]


@dataclass(frozen=True)
class PaddingAudit:
    """Every pair of windows of two models; `notes` say what to bear in mind about the whole."""

    pairs: tuple[ComparedWindows, ...]
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether nothing disagrees."""
        return not any(pair.disagreements for pair in self.pairs)

    def count(self, kind: str) -> int:
        """Return how many disagreements of a kind there are."""
        return sum(disagreement.kind == kind for pair in self.pairs for disagreement in pair.disagreements)


def audit_graphs(left: Graph, right: Graph, fixes: Fixes = PLAIN) -> PaddingAudit:
    """Align two models and hold their windows against each other. Both stay as they are; `fixes` says how the second is
    mended.

    Windows that only one of them has are pairs with one side. Where one model has a window over all data and the other
    an operator that always reads all (a global pooling, a matrix product), neither pads, and there is no pair. Raises
    what reading weights raises.
    """
    (first, windows), (second, others) = prepared(left), prepared(right)
    sides = {node: window for window, node in windows}, {node: window for window, node in others}
    pairs: list[Pair] = []
    for node, other in align(first, second).pairs:
        window = sides[0].pop(node, None) if node is not None else None
        other_window = sides[1].pop(other, None) if other is not None else None
        is_alone = (window is None) != (other_window is None)
        if not is_alone or not _reads_all(window or other_window, node if other_window else other):
            pairs.append((window, other_window))
    pairs = [pair for pair in pairs if pair != (None, None)]
    pairs += [(window, None) for window in sides[0].values()] + [(None, window) for window in sides[1].values()]
    return replace(audit(pairs, fixes), notes=tuple(_notes(pairs, (first, second))))


def _reads_all(window: SlidingWindow | None, other: Node | None) -> bool:
    """Return whether a window covers all data, and the other model's node always does."""
    return window is not None and window.covers_all and other is not None and loose_kind(other) in WHOLE


WHOLE = ("mean", "maximum", "linear")


def _notes(pairs: Sequence[Pair], graphs: tuple[Graph, Graph]) -> Iterable[str]:
    """Yield what one should know before reading the disagreements."""
    both = sum(left is not None and right is not None and _may_match(left, right) for left, right in pairs)
    fewer = min(sum(pair[side] is not None for pair in pairs) for side in (0, 1))
    if not pairs:
        yield "neither model has a convolution or pooling that could pad: there is nothing to compare"
    elif 2 * both < fewer or not fewer:
        yield (
            f"only {both} of {len(pairs)} windows have a counterpart of the same kind: these look like different "
            "networks, and what is said below may be about layers that have nothing to do with each other"
        )
    sizes = [tuple(value.shape for value in graph.inputs if value.shape is not None) for graph in graphs]
    shown = [sorted(sorted(map(str, shape[1:])) for shape in side if len(shape) > 2) for side in sizes]
    if shown[0] != shown[1] and len(shown[0]) == len(shown[1]) and both:
        texts = [", ".join(by(shape) for shape in side) for side in sizes]
        yield (
            f"the inputs have other sizes: {texts[0]} in the first model, {texts[1]} in the second; SAME pads by the "
            "size, so state the same one for both (-i, --other-input)"
        )


def _may_match(left: SlidingWindow, right: SlidingWindow) -> bool:
    """Return whether two windows may well be of one layer."""
    return (left.operator, left.kernel, left.strides) == (right.operator, right.kernel, right.strides)


def audit(pairs: Iterable[Pair], fixes: Fixes = PLAIN) -> PaddingAudit:
    """Hold each pair's windows against each other. The first model is taken to be right."""
    return PaddingAudit(tuple(ComparedWindows(*pair, tuple(compare(*pair, fixes))) for pair in pairs))


def compare(left: SlidingWindow | None, right: SlidingWindow | None, fixes: Fixes = PLAIN) -> list[Disagreement]:
    """Return what disagrees about two windows.

    Padding that no window reads does not count, and a wrong number of input channels is the fault of the layer that
    makes them.
    """
    if left is None or right is None:
        return [_missing_window(left, right)]
    if left.operator != right.operator:
        text = f"{left.operator} in the first model, {right.operator} in the second"
        return [Disagreement("operator", text, f"make it a {left.operator}")]
    left, right = _same_axes(left, right)
    disagreements = []
    for kind, name in (("kernel", "kernel"), ("stride", "strides"), ("dilation", "dilations")):
        wanted, actual = getattr(left, name), getattr(right, name)
        if wanted != actual and not _is_unread(kind, left, right):
            text = f"{kind} {by(wanted)} in the first model, {by(actual)} in the second"
            disagreements.append(Disagreement(kind, text, fixes.attribute(kind, wanted)))
    if not disagreements:
        disagreements += _padding(left, right, fixes)
        disagreements += _divisor(left, right, fixes)
    numbers = isinstance(left.filters, int) and isinstance(right.filters, int)
    if numbers and left.filters != right.filters and "Conv" in left.operator:
        text = f"{left.filters} filters in the first model, {right.filters} in the second"
        disagreements.append(Disagreement("filters", text, fixes.filter_count(left.filters)))
    return disagreements


def _same_axes(left: SlidingWindow, right: SlidingWindow) -> tuple[SlidingWindow, SlidingWindow]:
    """Without the axes of size 1 that one of them has and the other has not: a window over one axis is also one over
    two, of which one is nothing."""
    rank = min(len(left.kernel), len(right.kernel))
    return _without_axes(left, rank), _without_axes(right, rank)


def _without_axes(window: SlidingWindow, rank: int) -> SlidingWindow:
    axes = range(len(window.kernel))
    nothing = [axis for axis in axes if window.sizes[axis] == window.kernel[axis] == 1 and _is_bare(window, axis)]
    kept = [axis for axis in axes if axis not in nothing[: len(axes) - rank]]
    if len(kept) == len(axes):
        return window
    names = ("kernel", "strides", "dilations", "sizes", "results", "pads", "output_padding")
    changes: Mapping[str, object] = {
        name: tuple(numbers[axis] for axis in kept) for name in names if (numbers := getattr(window, name))
    }
    return replace(window, **changes)  # type: ignore[arg-type]


def _is_bare(window: SlidingWindow, axis: int) -> bool:
    return window.pads is None or not any(window.pads[axis])


def _is_unread(kind: str, left: SlidingWindow, right: SlidingWindow) -> bool:
    """Return whether the attribute says nothing: the stride of an axis with one window, the dilation of a kernel of
    1."""
    if len(left.kernel) != len(right.kernel):
        return False
    if kind == "stride" and not left.transposed:
        pairs = zip(left.strides, right.strides, strict=True)
        ends = zip(left.results, right.results, strict=True)
        return all(a == b or end == (1, 1) for (a, b), end in zip(pairs, ends, strict=True))
    if kind == "dilation":
        spans = zip(left.dilations, right.dilations, left.kernel, right.kernel, strict=True)
        return all(a == b or width == other == 1 for a, b, width, other in spans)
    return False


def _missing_window(left: SlidingWindow | None, right: SlidingWindow | None) -> Disagreement:
    present = left or right
    assert present is not None
    where, lacking = ("first", "second") if right is None else ("second", "first")
    shape = f"{present.operator} {by(present.kernel)}, stride {by(present.strides)}"
    text = f"{present.name} ({shape}) of the {where} model has no counterpart in the {lacking}"
    return Disagreement("missing", text, "look at the layers before and behind it in both models")


def _padding(left: SlidingWindow, right: SlidingWindow, fixes: Fixes) -> list[Disagreement]:
    wanted, actual = left.effective_pads, right.effective_pads
    exact = wanted is not None and actual is not None
    if left.around != right.around:
        text = f"the first model has {left.around or 'no Pad'} in front, the second {right.around or 'no Pad'}"
        fix = f"take out the Pad {right.pad_node}" if right.around else f"{left.around} in front"
        return [Disagreement("padding", text, fix)]
    if not exact:
        wanted, actual = left.pads, right.pads
    if left.sizes != right.sizes and _same_rule(left, right):
        return []
    rounds = exact or left.ceil_mode == right.ceil_mode
    same = wanted == actual and rounds and (exact or _extra(left) == _extra(right)) and left.results == right.results
    if same and ((left.fill, left.filled) == (right.fill, right.filled) or not _pads_something(wanted)):
        return []
    if wanted is None or actual is None:
        if left.policy == right.policy != "computed" and left.pads == right.pads:
            return []
        both = f"{_describe(left)}; the second model has {_describe(right)}"
        text = f"{both}: whether they agree depends on the input's size"
        return [Disagreement("padding", text, "state the inputs' shapes (-i) to have both as numbers")]
    fix = fixes.padding(left, right)
    if same:
        effect = f"the first model fills them with {fill_of(left)}, the second with {fill_of(right)}"
        return [Disagreement("padding", f"{_describe(left)}, as in the second model; {effect}: other borders", fix)]
    effect = _effect(left, right, wanted, actual)
    if left.pads == right.pads and left.ceil_mode != right.ceil_mode:
        ways = f"the first model rounds the number of windows {rounding(left)}, the second {rounding(right)}"
        return [Disagreement("ceil", f"{ways}: {effect}", fix)]
    verb = "crops" if left.transposed else "pads"
    extra = f" with output padding {by(_extra(right))}" if any(_extra(right)) else ""
    text = f"{_describe(left)}; the second model {verb} {listed(right.pads)}{extra}: {effect}"
    return [Disagreement("padding", text, fix)]


def _extra(window: SlidingWindow) -> tuple[int, ...]:
    return window.output_padding or (0,) * len(window.kernel)


def _pads_something(pads: Pads | None) -> bool:
    return pads is None or any(number > 0 for pair in pads for number in pair)


def _same_rule(left: SlidingWindow, right: SlidingWindow) -> bool:
    """Return whether both pad by the same rule, so that only what stands before them explains why sizes differ."""
    if left.ceil_mode != right.ceil_mode or left.fill != right.fill:
        return False
    if left.pads == right.pads and _extra(left) == _extra(right):
        return True
    if left.transposed or not left.policy.startswith("SAME") or right.pads is None:
        return False
    policy = Same(SameMode[left.policy.removeprefix("SAME_")])
    ruled = resolve(policy, right.sizes, right.kernel, right.strides, right.dilations)
    return ruled is not None and ruled.pads == right.pads


def _describe(window: SlidingWindow) -> str:
    """Return what a window pads and why, as in `SAME_UPPER at stride 2 on 224x224 pads (0, 1), (0, 1)`."""
    on = f" on {by(window.sizes)}" if any(stride > 1 for stride in window.strides) else ""
    if window.policy == "computed":
        return f"padding that other nodes compute, at stride {by(window.strides)}{on}"
    policy = window.policy if window.policy != "explicit" else window.also or "the first model"
    at = f"{policy} at stride {by(window.strides)}{on}"
    verb = "crops" if window.transposed else "pads"
    extra = f" with output padding {by(_extra(window))}" if any(_extra(window)) else ""
    return f"{at} {verb} {listed(window.pads)}{extra}" if window.pads is not None else f"{at}, in numbers open"


def _effect(left: SlidingWindow, right: SlidingWindow, wanted: Pads, actual: Pads) -> str:
    if left.results != right.results:
        if left.sizes != right.sizes:
            return f"{by(left.results)} becomes {by(right.results)}, on an input of {by(right.sizes)}"
        return f"{by(left.results)} becomes {by(right.results)}"
    shifts = [abs(before - other) for (before, _), (other, _) in zip(wanted, actual, strict=True)]
    pixels = max(shifts)
    if not pixels:
        return "same shape, other data under the last windows"
    moved = f"same shape, output shifted by {pixels} pixel{'' if pixels == 1 else 's'}"
    return moved + (f" (axes {by(shifts)})" if len(set(shifts)) > 1 else "")


def _divisor(left: SlidingWindow, right: SlidingWindow, fixes: Fixes) -> list[Disagreement]:
    if left.operator != "AveragePool":
        return []
    wanted, actual = left.divisors, right.divisors
    if wanted is None or actual is None or left.results != right.results:
        differ = left.divisor != right.divisor and left.divisor and right.divisor and _reads_padding(left, right)
    else:
        differ = wanted != actual
    if not differ:
        return []
    sides = f"the first model divides {_divides(left)}; the second {_divides(right)}"
    return [Disagreement("divisor", f"{sides}: other values at the border", fixes.divisor(left, right))]


def _reads_padding(*windows: SlidingWindow) -> bool:
    return any(_pads_something(window.effective_pads) for window in windows)


def _divides(window: SlidingWindow) -> str:
    """Return what an average is divided by, in words."""
    whole = math.prod(window.kernel)
    axes = zip(window.divisors or (), window.kernel, strict=False)
    everywhere = all(count == width for axis, width in axes for count in axis)
    if window.include and everywhere:
        return f"by {whole} everywhere, padding included"
    if window.divisors is not None and everywhere:
        return f"by {whole} everywhere"
    if window.include and any(map(any, window.pads or ())):
        return f"by the number of data and stated padding in the window, fewer than {whole} where rounding up adds more"
    return f"by the number of data in the window, fewer than {whole} at the border"

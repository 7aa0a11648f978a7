"""Two models' windows held against each other: where they do not read the same data, and what would mend it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from graphir.analysis.alignment import align
from graphir.analysis.windows import Pads, Window, prepared, windows_with_nodes
from graphir.graph import Graph
from graphir.padding import Same, SameMode, resolve
from graphir.types import Dim

Pair = tuple[Window | None, Window | None]


@dataclass(frozen=True)
class Disagreement:
    """One thing about a pair of windows that differs: of what kind, in a sentence, and how the second model is mended.

    Kinds: missing, operator, kernel, stride, dilation, padding, divisor, filters.
    """

    kind: str
    text: str
    fix: str


@dataclass(frozen=True)
class Compared:
    """A pair of windows, one of which may be absent, and what disagrees."""

    left: Window | None
    right: Window | None
    disagreements: tuple[Disagreement, ...]


@dataclass(frozen=True)
class PaddingAudit:
    """Every pair of windows of two models. `framework` is that of the second, in whose terms fixes are given."""

    pairs: tuple[Compared, ...]
    framework: str = ""

    @property
    def agrees(self) -> bool:
        """Whether nothing disagrees."""
        return not any(pair.disagreements for pair in self.pairs)

    def count(self, kind: str) -> int:
        """How many disagreements of a kind there are."""
        return sum(found.kind == kind for pair in self.pairs for found in pair.disagreements)


def audit_graphs(left: Graph, right: Graph, framework: str = "") -> PaddingAudit:
    """Align two models and hold their windows against each other. Both stay as they are.

    Windows that only one of them has are pairs with one side. Raises what reading weights raises.
    """
    one, two = prepared(left), prepared(right)
    windows = {node: window for window, node in windows_with_nodes(one)}
    others = {node: window for window, node in windows_with_nodes(two)}
    pairs: list[Pair] = []
    for node, other in align(one, two).pairs:
        found = windows.pop(node, None) if node is not None else None
        held = others.pop(other, None) if other is not None else None
        if found is not None or held is not None:
            pairs.append((found, held))
    pairs += [(window, None) for window in windows.values()] + [(None, window) for window in others.values()]
    return audit(pairs, framework)


def audit(pairs: Iterable[Pair], framework: str = "") -> PaddingAudit:
    """Hold each pair's windows against each other. The first model is taken to be right."""
    return PaddingAudit(tuple(Compared(*pair, tuple(compare(*pair, framework))) for pair in pairs), framework)


def compare(left: Window | None, right: Window | None, framework: str = "") -> list[Disagreement]:
    """What disagrees about two windows.

    Padding that no window reads does not count, and a wrong number of input channels is the fault of the layer that
    makes them.
    """
    if left is None or right is None:
        return [_missing(left, right)]
    if left.operator != right.operator:
        text = f"{left.operator} in the first model, {right.operator} in the second"
        return [Disagreement("operator", text, f"make it a {left.operator}")]
    found = []
    for kind, name in (("kernel", "kernel"), ("stride", "strides"), ("dilation", "dilations")):
        wanted, held = getattr(left, name), getattr(right, name)
        if wanted != held:
            fix = _ATTRIBUTES.get(framework, _plain_attribute)(kind, wanted)
            found.append(Disagreement(kind, f"{kind} {_by(wanted)} in the first model, {_by(held)} in the second", fix))
    if not found:
        found += _padding(left, right, framework)
        found += _divisor(left, right, framework)
    numbers = isinstance(left.filters, int) and isinstance(right.filters, int)
    if numbers and left.filters != right.filters and "Conv" in left.operator:
        text = f"{left.filters} filters in the first model, {right.filters} in the second"
        fix = f"num_filter={left.filters}" if framework == "mxnet" else f"{left.filters} filters"
        found.append(Disagreement("filters", text, fix))
    return found


def _missing(left: Window | None, right: Window | None) -> Disagreement:
    present = left or right
    assert present is not None
    where, lacking = ("first", "second") if right is None else ("second", "first")
    shape = f"{present.operator} {_by(present.kernel)}, stride {_by(present.strides)}"
    text = f"{present.name} ({shape}) of the {where} model has no counterpart in the {lacking}"
    return Disagreement("missing", text, "look at the layers before and behind it in both models")


def _padding(left: Window, right: Window, framework: str) -> list[Disagreement]:
    wanted, held = left.effective_pads, right.effective_pads
    if wanted is None or held is None:
        wanted, held = left.pads, right.pads
    if left.sizes != right.sizes and _same_rule(left, right):
        return []
    if wanted == held and left.output_padding == right.output_padding and _same(left.results, right.results):
        return []
    if wanted is None or held is None:
        if left.policy == right.policy and left.pads == right.pads:
            return []
        text = f"{_stated(left)}; the second model has {_stated(right)}: whether they agree depends on the input's size"
        return [Disagreement("padding", text, "state the inputs' shapes (-i) to have both as numbers")]
    effect = _effect(left, right, wanted, held)
    text = f"{_stated(left)}; the second model pads {_listed(right.pads)}: {effect}"
    pads = left.pads
    assert pads is not None
    return [Disagreement("padding", text, _PADS.get(framework, _plain_pads)(pads, left))]


def _same_rule(left: Window, right: Window) -> bool:
    """Whether both pad by the same rule, so that only what stands before them explains why sizes differ."""
    if left.pads == right.pads and left.output_padding == right.output_padding:
        return True
    if left.transposed or not left.policy.startswith("SAME") or right.pads is None:
        return False
    policy = Same(SameMode[left.policy.removeprefix("SAME_")])
    ruled = resolve(policy, right.sizes, right.kernel, right.strides, right.dilations)
    return ruled is not None and ruled.pads == right.pads


def _stated(window: Window) -> str:
    """What a window pads and why, as in `SAME_UPPER at stride 2 on 224x224 pads (0, 1), (0, 1)`."""
    on = f" on {_by(window.sizes)}" if any(stride > 1 for stride in window.strides) else ""
    policy = window.policy if window.policy != "explicit" else window.also or "the first model"
    at = f"{policy} at stride {_by(window.strides)}{on}"
    verb = "crops" if window.transposed else "pads"
    return f"{at} {verb} {_listed(window.pads)}" if window.pads is not None else f"{at}, in numbers open"


def _effect(left: Window, right: Window, wanted: Pads, held: Pads) -> str:
    if not _same(left.results, right.results):
        if left.sizes != right.sizes:
            return f"{_by(left.results)} becomes {_by(right.results)}, on an input of {_by(right.sizes)}"
        return f"{_by(left.results)} becomes {_by(right.results)}"
    shifts = [abs(before - other) for (before, _), (other, _) in zip(wanted, held, strict=True)]
    pixels = max(shifts)
    if not pixels:
        return "other data under the last windows" if left.results == right.results else "same shape, other edges"
    moved = f"same shape, output shifted by {pixels} pixel{'' if pixels == 1 else 's'}"
    return moved + (f" (axes {_by(shifts)})" if len(set(shifts)) > 1 else "")


def _divisor(left: Window, right: Window, framework: str) -> list[Disagreement]:
    pads = (*(left.effective_pads or ()), *(right.effective_pads or ()))
    reads_padding = any(number > 0 for pair in pads for number in pair)
    if left.divisor == right.divisor or not (left.divisor and right.divisor) or not reads_padding:
        return []
    whole = math.prod(left.kernel)
    texts = {
        "data": f"by the number of data in the window, fewer than {whole} at the border",
        "data and padding": f"by {whole} everywhere, padding included",
    }
    sides = f"the first model divides {texts[left.divisor]}; the second {texts[right.divisor]}"
    flag = left.divisor == "data and padding"
    fix = f"count_include_pad={int(flag) if framework == 'onnx' else flag}"
    return [Disagreement("divisor", f"{sides}: other values at the border", fix)]


def _same(left: Sequence[Dim], right: Sequence[Dim]) -> bool:
    return tuple(left) == tuple(right)


def _by(numbers: Iterable[Dim]) -> str:
    return "x".join(map(str, numbers))


def _listed(pads: Pads | None) -> str:
    return "an open number" if pads is None else ", ".join(f"({before}, {after})" for before, after in pads)


def _plain_attribute(kind: str, numbers: tuple[int, ...]) -> str:
    return f"{kind} {_by(numbers)}"


def _mxnet_attribute(kind: str, numbers: tuple[int, ...]) -> str:
    return f"{ {'dilation': 'dilate'}.get(kind, kind)}={numbers}"


def _onnx_attribute(kind: str, numbers: tuple[int, ...]) -> str:
    name = {"kernel": "kernel_shape", "stride": "strides", "dilation": "dilations"}[kind]
    return f"{name}={list(numbers)}"


def _plain_pads(pads: Pads, window: Window) -> str:
    verb = "crop" if window.transposed else "pad"
    return f"{verb} {_listed(pads)}, before and after each axis"


def _mxnet_pads(pads: Pads, window: Window) -> str:
    """MXNet's `pad` is one number an axis; what is not symmetric goes into a Pad in front."""
    if all(before == after for before, after in pads):
        return f"pad={tuple(before for before, _ in pads)}"
    if window.transposed:
        return f"pad=(0, ...) and a slice of the result that takes off {_listed(pads)}"
    width = (0, 0, 0, 0, *(number for pair in pads for number in pair))
    fill = "a very low constant_value" if window.operator == "MaxPool" else "constant_value=0"
    made = f"mx.sym.Pad(mode='constant', pad_width={width}, {fill}) in front and pad={(0,) * len(pads)}"
    if window.divisor == "data":
        made += "; an average over data only needs pool_type='sum' and a division"
    return made


def _onnx_pads(pads: Pads, window: Window) -> str:
    extra = f", output_padding={list(window.output_padding)}" if any(window.output_padding) else ""
    return f"pads={[before for before, _ in pads] + [after for _, after in pads]}{extra}"


_ATTRIBUTES: dict[str, Callable[[str, tuple[int, ...]], str]] = {"mxnet": _mxnet_attribute, "onnx": _onnx_attribute}
_PADS: dict[str, Callable[[Pads, Window], str]] = {"mxnet": _mxnet_pads, "onnx": _onnx_pads}

__all__ = ["Compared", "Disagreement", "PaddingAudit", "Pair", "audit", "audit_graphs", "compare"]

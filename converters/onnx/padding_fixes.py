"""A window's padding mended in ONNX's terms."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.analysis.padding_fixes import LOWEST, Fixes, extra, is_mode, read_pads
from graphir.analysis.windows import Pads, SlidingWindow


class OnnxFixes(Fixes):
    """Attributes of a node, with a Pad in front where these cannot say it."""

    names = {"kernel": "kernel_shape", "stride": "strides", "dilation": "dilations"}

    def several(self, numbers: Sequence[int]) -> str:
        """Return a list."""
        return str(list(numbers))

    def include(self, left: SlidingWindow) -> str:
        """Return 0 or 1."""
        return f"count_include_pad={int(left.include)}"

    def padding(self, left: SlidingWindow, right: SlidingWindow) -> str:
        """Return the whole padding."""
        parts = ["auto_pad='NOTSET'"] if right.own_policy.startswith("SAME") else []
        if left.fill or _pads_too_much(left):
            return _onnx_pad(left, right, parts)
        parts.append(f"pads={_ends(left.pads or ())}")
        if extra(left) != extra(right):
            parts.append(f"output_padding={list(extra(left))}")
        if left.ceil_mode != right.ceil_mode:
            parts.append(f"ceil_mode={int(left.ceil_mode)}")
        if left.include != right.include:
            parts.append(self.include(left))
        without = ["output_shape"] if right.own_policy == "output shape" else []
        if right.pad_node:
            without.append(f"the Pad {right.pad_node}")
        return ", ".join(parts) + (f", without {' and '.join(without)}" if without else "")


def _pads_too_much(left: SlidingWindow) -> bool:
    """Return whether a pooling pads as much as its window is wide, which runtimes refuse."""
    spans = zip(left.pads or (), left.kernel, strict=False)
    return "Pool" in left.operator and any(max(pair) >= width for pair, width in spans)


def _onnx_pad(left: SlidingWindow, right: SlidingWindow, parts: list[str]) -> str:
    """Return a Pad in front and no padding of the operator's own."""
    pads = (left.pads or ()) if left.fill else read_pads(left)
    rounds_up = left.ceil_mode and bool(left.fill)
    before, after = [first for first, _ in pads], [last for _, last in pads]
    value = left.fill or (LOWEST if left.operator == "MaxPool" else "0")
    filled = f"mode='{left.fill}'" if is_mode(left.fill) else "mode='constant'"
    amounts = f", pads={[0, 0, *before, 0, 0, *after]}" + ("" if is_mode(left.fill) else f", constant_value={value}")
    parts.append(f"pads={[0] * 2 * len(pads)}")
    if right.ceil_mode != rounds_up:
        parts.append(f"ceil_mode={int(rounds_up)}")
    named = f"the Pad {right.pad_node} as Pad" if right.pad_node else "a Pad"
    return f"{named}({filled}{amounts}) in front and {', '.join(parts)}"


def _ends(pads: Pads) -> list[int]:
    """ONNX's order: all before, then all after."""
    return [before for before, _ in pads] + [after for _, after in pads]

"""A window's padding mended in TensorFlow's terms."""

from __future__ import annotations

from graphir.analysis.padding_fixes import LOWEST, Fixes, by, extra, is_mode, listed, read_pads
from graphir.analysis.windows import SlidingWindow
from graphir.padding import Same, SameMode, resolve, split_same


class TensorFlowFixes(Fixes):
    """SAME or VALID, with a tf.pad in front where these do not say it."""

    names = {"kernel": "kernel_size", "stride": "strides", "dilation": "dilation_rate"}
    filters = "filters"

    def padding(self, left: SlidingWindow, right: SlidingWindow) -> str:
        """Return how to change the whole padding."""
        if left.transposed:
            return _tensorflow_crops(left)
        pads = read_pads(left)
        counts = left.include and any(map(any, pads))
        same = resolve(Same(SameMode.UPPER), right.sizes, left.kernel, left.strides, left.dilations)
        policy = "VALID" if not any(map(any, pads)) else "SAME" if same is not None and same.pads == pads else ""
        if policy and not left.fill and not (counts and policy == "SAME"):
            without = f", without the Pad {right.pad_node} in front" if right.pad_node else ""
            return f"padding='{policy}'{without}"
        around = [[0, 0], *map(list, pads), [0, 0]]
        mode = {"reflect": ", mode='REFLECT'"}.get(left.fill, "")
        value = LOWEST if left.operator == "MaxPool" and not left.fill else left.fill
        filled = f", constant_values={value}" if value and not is_mode(value) else ""
        named = f"{right.pad_node} as " if right.pad_node else ""
        advice = f"{named}tf.pad(data, {around}{mode}{filled}) in front and padding='VALID'"
        if left.operator == "AveragePool" and not left.include and any(map(any, pads)):
            advice += ", divided by the same average of such padded ones"
        return advice


def _tensorflow_crops(left: SlidingWindow) -> str:
    """Return how TensorFlow's crops change: it derives them from the output shape, the odd element behind."""
    ends = [(before, after - more) for (before, after), more in zip(left.pads or (), extra(left), strict=True)]
    if all(pair == split_same(max(sum(pair), 0), SameMode.UPPER) for pair in ends):
        return f"padding='SAME' and the spatial output shape {by(left.results)}"
    return f"padding='VALID' and a slice of the result that takes off {listed(tuple(ends))}"

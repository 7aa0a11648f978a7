"""A window's padding mended in MXNet's terms."""

from __future__ import annotations

from graphir.analysis.padding_fixes import LOWEST, Fixes, extra, is_mode, read_pads
from graphir.analysis.windows import Pads, SlidingWindow
from graphir.types import ceildiv


class MXNetFixes(Fixes):
    """Attributes of a node, with a Pad in front or a slice behind where these cannot say it."""

    names = {"kernel": "kernel", "stride": "stride", "dilation": "dilate"}
    filters = "num_filter"

    def include(self, left: SlidingWindow) -> str:
        """True or False."""
        return f"count_include_pad={left.include}"

    def padding(self, left: SlidingWindow, right: SlidingWindow) -> str:
        """Return the whole padding."""
        if left.transposed:
            return _mxnet_crops(left, right)
        own = "" if left.fill else self._own(left, right)
        if own:
            return own + (f", without the Pad {right.pad_node} in front" if right.pad_node else "")
        return _mxnet_pad(left, right)

    def _own(self, left: SlidingWindow, right: SlidingWindow) -> str:
        """Return the pooling's or convolution's own attributes, "" if these cannot say it: one number an axis, and for
        poolings the convention `full`, which rounds the number of windows up."""
        pads = left.pads or ((0, 0),) * len(left.kernel)
        even = all(before == after for before, after in pads)
        own = f"pad={tuple(before for before, _ in pads)}"
        if "Pool" not in left.operator:
            return own if even else ""
        if any(before >= width for (before, _), width in zip(pads, left.kernel, strict=True)):
            return ""
        if left.ceil_mode or not even:
            if (left.include and not even) or not _full_counts(left, pads):
                return ""
            parts = [own, "pooling_convention='full'"]
        else:
            parts = [own, "pooling_convention='valid'"]
        if left.operator == "AveragePool" and (left.include != right.include or right.pad_node):
            parts.append(self.include(left))
        return ", ".join(parts)


def _full_counts(left: SlidingWindow, pads: Pads) -> bool:
    """Return whether the convention `full` with the padding before as padding on both sides has the same windows."""
    for axis, (before, _) in enumerate(pads):
        size, result = left.sizes[axis], left.results[axis]
        if not isinstance(size, int) or not isinstance(result, int):
            return False
        if before >= left.kernel[axis] or left.dilations[axis] != 1:
            return False
        if ceildiv(size + 2 * before - left.kernel[axis], left.strides[axis]) + 1 != result:
            return False
    return True


def _mxnet_pad(left: SlidingWindow, right: SlidingWindow) -> str:
    """Return a Pad in front, which can differ on both sides. MXNet's takes 4 and 5 axes only."""
    rounds_up = left.ceil_mode and (bool(left.fill) or left.include)
    pads = (left.pads or ()) if rounds_up else read_pads(left)
    lone = len(pads) == 1
    numbers = [0, 0, 0, 0, *([0, 0] if lone else []), *(number for pair in pads for number in pair)]
    mode = left.fill if is_mode(left.fill) else "constant"
    value = left.fill or (LOWEST if left.operator == "MaxPool" else "0")
    filled = "" if mode == left.fill else f", constant_value={value}"
    inner = f"mode='{mode}', pad_width={tuple(numbers)}{filled}"
    named = f"{right.pad_node} as " if right.pad_node else ""
    made = f"{named}mx.sym.Pad({inner})"
    if lone:
        made = f"{named}mx.sym.squeeze(mx.sym.Pad(mx.sym.expand_dims(data, axis=2), {inner}), axis=2)"
    made += f" in front and pad={(0,) * len(pads)}"
    if "Pool" in left.operator:
        made += f", pooling_convention='{'full' if rounds_up else 'valid'}'"
    if left.operator == "AveragePool" and not left.include:
        made += ", divided by the same average of such padded ones"
    return made


def _mxnet_crops(left: SlidingWindow, right: SlidingWindow) -> str:
    """Deconvolution crops as much behind as before, less `adj` behind; the rest is cut off the result."""
    ends = [(before, after - more) for (before, after), more in zip(left.pads or (), extra(left), strict=True)]
    adj = tuple(before - after for before, after in ends)
    if all(0 <= more < stride for more, stride in zip(adj, left.strides, strict=True)):
        return f"pad={tuple(before for before, _ in ends)}" + (f", adj={adj}" if any((*adj, *extra(right))) else "")
    begin = (None, None, *(before or None for before, _ in ends))
    end = (None, None, *(-after if after > 0 else None for _, after in ends))
    pads = (0,) * len(ends)
    more = tuple(max(-after, 0) for _, after in ends)
    return f"pad={pads}, adj={more} and mx.sym.slice(begin={begin}, end={end}) behind"

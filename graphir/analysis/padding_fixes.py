"""How the second of two models is mended so that a window reads what the first model's reads, in its framework's terms.

Every fix is complete: what it does not name may stay as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphir.analysis.windows import Pads, Window
from graphir.padding import Same, SameMode, resolve, split_same
from graphir.types import Dim, ceildiv

LOWEST = "-3.4028234663852886e+38"
_NAMES = {
    "mxnet": {"kernel": "kernel", "stride": "stride", "dilation": "dilate"},
    "onnx": {"kernel": "kernel_shape", "stride": "strides", "dilation": "dilations"},
    "tensorflow": {"kernel": "kernel_size", "stride": "strides", "dilation": "dilation_rate"},
}


def attribute_fix(framework: str, kind: str, numbers: Sequence[int]) -> str:
    """A kernel, stride or dilation as the framework states it."""
    name = _NAMES.get(framework, {}).get(kind)
    if name is None:
        return f"{kind} {by(numbers)}"
    return f"{name}={list(numbers) if framework == 'onnx' else tuple(numbers)}"


def filters_fix(framework: str, filters: Dim) -> str:
    """A number of filters as the framework states it."""
    name = {"mxnet": "num_filter=", "tensorflow": "filters="}.get(framework)
    return f"{filters} filters" if name is None else f"{name}{filters}"


def padding_fix(framework: str, left: Window, right: Window) -> str:
    """The padding of `left` for `right`, with rounding, divisor, fill and output padding where the two differ."""
    return _FIXES.get(framework, _plain)(left, right)


def divisor_fix(framework: str, left: Window, right: Window) -> str:
    """The divisor of `left` for `right`, whose padding is right."""
    own = framework in ("mxnet", "onnx") and not right.pad_node and left.pads == right.pads
    if own and left.ceil_mode == right.ceil_mode:
        return _include(framework, left)
    return padding_fix(framework, left, right)


def by(numbers: Sequence[Dim]) -> str:
    """Numbers with an x between."""
    return "x".join(map(str, numbers))


def listed(pads: Pads | None) -> str:
    """Pads as (before, after) of each axis."""
    return "an open number" if pads is None else ", ".join(f"({before}, {after})" for before, after in pads)


def _include(framework: str, left: Window) -> str:
    return f"count_include_pad={int(left.include) if framework == 'onnx' else left.include}"


def _read(window: Window) -> Pads:
    """What is padded so that rounding down gives the window's own results: with ceil mode also what that adds."""
    pads = window.pads or ((0, 0),) * len(window.kernel)
    reached = window.effective_pads if window.ceil_mode else None
    return pads if reached is None else tuple((before, max(after, 0)) for before, after in reached)


def _plain(left: Window, right: Window) -> str:
    if left.transposed:
        extra = f", output padding {by(left.output_padding)}" if _extra(left) != _extra(right) else ""
        return f"crop {listed(left.pads)}, before and after each axis{extra}"
    text = f"pad {listed(left.pads)}, before and after each axis"
    if left.fill != right.fill:
        text += f", with {fill_of(left)}"
    if left.ceil_mode != right.ceil_mode:
        text += f", the number of windows rounded {rounding(left)}"
    if left.include != right.include:
        text += f", divided by {left.divisor or 'data'}"
    return text


def rounding(window: Window) -> str:
    """Which way the number of windows is rounded."""
    return "up" if window.ceil_mode else "down"


def fill_of(window: Window) -> str:
    """What stands in a window's padding."""
    modes = {"reflect": "a reflection of the data", "edge": "copies of the edges", "wrap": "the data of the other end"}
    if window.fill:
        return modes.get(window.fill, f"the number {window.fill}")
    return "nothing that counts" if window.operator in ("MaxPool", "AveragePool") else "zeros"


def _extra(window: Window) -> tuple[int, ...]:
    return window.output_padding or (0,) * len(window.kernel)


# ONNX


def _onnx(left: Window, right: Window) -> str:
    parts = ["auto_pad='NOTSET'"] if right.own_policy.startswith("SAME") else []
    if left.fill or _pads_too_much(left):
        return _onnx_pad(left, right, parts)
    parts.append(f"pads={_ends(left.pads or ())}")
    if _extra(left) != _extra(right):
        parts.append(f"output_padding={list(_extra(left))}")
    if left.ceil_mode != right.ceil_mode:
        parts.append(f"ceil_mode={int(left.ceil_mode)}")
    if left.include != right.include:
        parts.append(_include("onnx", left))
    without = ["output_shape"] if right.own_policy == "output shape" else []
    if right.pad_node:
        without.append(f"the Pad {right.pad_node}")
    return ", ".join(parts) + (f", without {' and '.join(without)}" if without else "")


def _pads_too_much(left: Window) -> bool:
    """Whether a pooling pads as much as its window is wide, which runtimes refuse."""
    spans = zip(left.pads or (), left.kernel, strict=False)
    return "Pool" in left.operator and any(max(pair) >= width for pair, width in spans)


def _onnx_pad(left: Window, right: Window, parts: list[str]) -> str:
    """A Pad in front and no padding of the operator's own."""
    pads = (left.pads or ()) if left.fill else _read(left)
    rounds_up = left.ceil_mode and bool(left.fill)
    before, after = [first for first, _ in pads], [last for _, last in pads]
    value = left.fill or (LOWEST if left.operator == "MaxPool" else "0")
    filled = f"mode='{left.fill}'" if _is_mode(left.fill) else "mode='constant'"
    amounts = f", pads={[0, 0, *before, 0, 0, *after]}" + ("" if _is_mode(left.fill) else f", constant_value={value}")
    parts.append(f"pads={[0] * 2 * len(pads)}")
    if right.ceil_mode != rounds_up:
        parts.append(f"ceil_mode={int(rounds_up)}")
    named = f"the Pad {right.pad_node} as Pad" if right.pad_node else "a Pad"
    return f"{named}({filled}{amounts}) in front and {', '.join(parts)}"


def _ends(pads: Pads) -> list[int]:
    """ONNX's order: all before, then all after."""
    return [before for before, _ in pads] + [after for _, after in pads]


def _is_mode(fill: str) -> bool:
    return fill in ("reflect", "edge", "wrap")


# MXNet


def _mxnet(left: Window, right: Window) -> str:
    if left.transposed:
        return _mxnet_crops(left, right)
    own = "" if left.fill else _mxnet_own(left, right)
    if own:
        return own + (f", without the Pad {right.pad_node} in front" if right.pad_node else "")
    return _mxnet_pad(left, right)


def _mxnet_own(left: Window, right: Window) -> str:
    """The pooling's or convolution's own attributes, "" if these cannot say it: one number an axis, and for poolings
    the convention `full`, which rounds the number of windows up."""
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
        parts.append(_include("mxnet", left))
    return ", ".join(parts)


def _full_counts(left: Window, pads: Pads) -> bool:
    """Whether the convention `full` with the padding before as padding on both sides has the same windows."""
    for axis, (before, _) in enumerate(pads):
        size, result = left.sizes[axis], left.results[axis]
        if not isinstance(size, int) or not isinstance(result, int):
            return False
        if before >= left.kernel[axis] or left.dilations[axis] != 1:
            return False
        if ceildiv(size + 2 * before - left.kernel[axis], left.strides[axis]) + 1 != result:
            return False
    return True


def _mxnet_pad(left: Window, right: Window) -> str:
    """A Pad in front, which can differ on both sides. MXNet's takes 4 and 5 axes only."""
    rounds_up = left.ceil_mode and (bool(left.fill) or left.include)
    pads = (left.pads or ()) if rounds_up else _read(left)
    lone = len(pads) == 1
    numbers = [0, 0, 0, 0, *([0, 0] if lone else []), *(number for pair in pads for number in pair)]
    mode = left.fill if _is_mode(left.fill) else "constant"
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


def _mxnet_crops(left: Window, right: Window) -> str:
    """Deconvolution crops as much behind as before, less `adj` behind; the rest is cut off the result."""
    ends = [(before, after - extra) for (before, after), extra in zip(left.pads or (), _extra(left), strict=True)]
    adj = tuple(before - after for before, after in ends)
    if all(0 <= more < stride for more, stride in zip(adj, left.strides, strict=True)):
        return f"pad={tuple(before for before, _ in ends)}" + (f", adj={adj}" if any((*adj, *_extra(right))) else "")
    begin = (None, None, *(before or None for before, _ in ends))
    end = (None, None, *(-after if after > 0 else None for _, after in ends))
    pads = (0,) * len(ends)
    more = tuple(max(-after, 0) for _, after in ends)
    return f"pad={pads}, adj={more} and mx.sym.slice(begin={begin}, end={end}) behind"


# TensorFlow


def _tensorflow(left: Window, right: Window) -> str:
    if left.transposed:
        return _tensorflow_crops(left)
    pads = _read(left)
    counts = left.include and any(map(any, pads))
    same = resolve(Same(SameMode.UPPER), right.sizes, left.kernel, left.strides, left.dilations)
    policy = "VALID" if not any(map(any, pads)) else "SAME" if same is not None and same.pads == pads else ""
    if policy and not left.fill and not (counts and policy == "SAME"):
        without = f", without the Pad {right.pad_node} in front" if right.pad_node else ""
        return f"padding='{policy}'{without}"
    around = [[0, 0], *map(list, pads), [0, 0]]
    mode = {"reflect": ", mode='REFLECT'"}.get(left.fill, "")
    value = LOWEST if left.operator == "MaxPool" and not left.fill else left.fill
    filled = f", constant_values={value}" if value and not _is_mode(value) else ""
    named = f"{right.pad_node} as " if right.pad_node else ""
    made = f"{named}tf.pad(data, {around}{mode}{filled}) in front and padding='VALID'"
    if left.operator == "AveragePool" and not left.include and any(map(any, pads)):
        made += ", divided by the same average of such padded ones"
    return made


def _tensorflow_crops(left: Window) -> str:
    """TensorFlow derives what it crops from the output shape, the odd element behind."""
    ends = [(before, after - extra) for (before, after), extra in zip(left.pads or (), _extra(left), strict=True)]
    if all(pair == split_same(max(sum(pair), 0), SameMode.UPPER) for pair in ends):
        return f"padding='SAME' and the spatial output shape {by(left.results)}"
    return f"padding='VALID' and a slice of the result that takes off {listed(tuple(ends))}"


_FIXES: dict[str, Callable[[Window, Window], str]] = {"mxnet": _mxnet, "onnx": _onnx, "tensorflow": _tensorflow}

__all__ = ["attribute_fix", "by", "divisor_fix", "fill_of", "filters_fix", "listed", "padding_fix", "rounding"]

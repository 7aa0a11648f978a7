"""What repeats a tensor or surrounds it."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, list_of, row, table, tuple_of
from graphir.ops import extent as ir
from graphir.types import DType

# F.pad's names; it pads the last axes only, of tensors with one or two axes more.
MODES = {ir.PadMode.EDGE: "replicate", ir.PadMode.REFLECT: "reflect", ir.PadMode.WRAP: "circular"}
MOST_AXES = 3


def export_tile(node: ExportNode[ir.Tile]) -> None:
    """repeat."""
    times = node.ints_if_known(1)
    text = f"{node.tensor(1).atom}.tolist()" if times is None else ", ".join(times)
    node.emit(f"{node.tensor().atom}.repeat({text})")


def export_pad(node: ExportNode[ir.Pad]) -> None:
    """F.pad where it can do it, else a function of the file, which takes elements by their positions."""
    op, data, rank = node.op, node.tensor(), node.rank()
    pads = node.ints_if_known(1)
    axes = node.known(3) if node.optional(3) is not None else tuple(range(rank))
    value = None
    if op.mode is ir.PadMode.CONSTANT and node.optional(2) is not None:
        value = node.scalar(2)
        value = None if value in ("0", "0.0", "False") else value
    if pads is None or axes is None:
        mode = None if op.mode is ir.PadMode.CONSTANT else f'"{op.mode.value}"'
        listed = None if node.optional(3) is None else node.int_list(3)
        node.emit(call(node.function("pad_axes"), data, node.int_list(1), axes=listed, mode=mode, value=value))
        return
    count = len(axes)
    pairs = {node.axis(axis, rank): (pads[place], pads[place + count]) for place, axis in enumerate(axes)}
    pairs = {axis: pair for axis, pair in pairs.items() if pair != ("0", "0")}
    if not pairs:
        node.alias(data)
        return
    first = min(pairs)
    if op.mode is not ir.PadMode.CONSTANT:
        known = {axis: _numbers(pair) for axis, pair in pairs.items()}
        width = next((axes for axes in (rank - 2, rank - 1) if 1 <= axes <= MOST_AXES and rank - axes <= first), None)
        fits = width is not None and node.dtype() in (DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16)
        if not fits or not all(_is_plain(op.mode, pair, node.shape()[axis]) for axis, pair in known.items()):
            ends = [pair[end] for end in (0, 1) for pair in pairs.values()]
            axes_text = None if len(pairs) == rank else list_of(sorted(pairs))
            pad = node.function("pad_axes")
            node.emit(call(pad, data, list_of(ends), axes=axes_text, mode=f'"{op.mode.value}"'))
            return
        assert width is not None
        first = rank - width
    numbers = [number for axis in reversed(range(first, rank)) for number in pairs.get(axis, ("0", "0"))]
    mode = None if op.mode is ir.PadMode.CONSTANT else f'"{MODES[op.mode]}"'
    node.emit(call("F.pad", data, tuple_of(numbers), mode=mode, value=value))


def _numbers(pair: tuple[str, str]) -> tuple[int, int] | None:
    try:
        return int(pair[0]), int(pair[1])
    except ValueError:
        return None


def _is_plain(mode: ir.PadMode, pair: tuple[int, int] | None, size: object) -> bool:
    """Return whether F.pad does it: no cropping, and no more than a tensor of this size has."""
    if pair is None or min(pair) < 0 or not isinstance(size, int) or size < 1:
        return False
    return mode is ir.PadMode.EDGE or max(pair) < size + (mode is ir.PadMode.WRAP)


EXPORTS = table(
    row(ir.Tile, export_tile),
    row(ir.Pad, export_pad),
)

"""Slices: [start:end:step] along axes."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.pytorch.exporting.context import ExportNode, Expr, binary, call, expr, row, table
from graphir.converters.pytorch.exporting.expression import SIMPLE, UNARY
from graphir.ops import slicing as ir
from graphir.ops.elements import is_natural

WHOLE = ":"


def export_slice(node: ExportNode[ir.Slice]) -> None:
    """A slice as Python writes it; an axis that is read backwards is flipped before."""
    rank = node.rank()
    starts, ends = node.ints_if_known(1), node.ints_if_known(2)
    count = node.input(1).shape[0] if node.input(1).shape else None  # type: ignore[index]
    axes = node.known(3) if node.optional(3) is not None else tuple(range(count)) if isinstance(count, int) else None
    steps = node.known(4) if node.optional(4) is not None else (1,) * len(axes or ())
    if starts is None or ends is None or axes is None or steps is None:
        named = {"axes": 3, "steps": 4}
        options = {name: node.int_list(slot) for name, slot in named.items() if node.optional(slot) is not None}
        function = node.function("slice_axes")
        node.emit(call(function, node.tensor(), node.int_list(1), node.int_list(2), **options))
        return
    parts = [WHOLE] * rank
    flipped = []
    firsts = node.input(1).known
    for place, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        axis = node.axis(axis, rank)
        start, end = starts[place], ends[place]
        if step < 0:
            flipped.append(axis)
            start, end = _backward(start), _backward(end)
            assert firsts is not None
            first, size = firsts.dims()[place], node.shape()[axis]
            # A backward slice that begins before the axis begins at its first element.
            if not (first == -1 or is_natural(first) or is_natural(size + first)):
                start = Expr(call("min", start, binary("-", node.size(0, axis), "1")))
        parts[axis] = _slice_text(start, end, abs(step))
    data = node.tensor()
    if flipped:
        data = Expr(f"{data.atom}.flip({', '.join(map(str, flipped))})")
    text = _subscript(parts)
    if text is None:
        node.emit(data)
    else:
        node.emit(f"{data.atom}[{text}]")


def _backward(bound: Expr) -> Expr:
    """Return a bound of the axis that is turned around: -1 - bound."""
    try:
        number = -1 - int(bound)
    except ValueError:
        return binary("-", "-1", bound)
    return expr(str(number)) if number >= 0 else Expr(str(number), UNARY)


def _slice_text(start: Expr, end: Expr, step: int) -> str:
    """start:end:step without what it needs not, spaced as ruff has it."""
    first = "" if start == "0" else str(start)
    last = "" if _is_beyond(end) else str(end)
    is_simple = all(not text or SIMPLE.fullmatch(text) for text in (first, last))
    if is_simple:
        return f"{first}:{last}" + (f":{step}" if step != 1 else "")
    text = f"{first} :" if first else ":"
    if last:
        text += f" {last}"
    if step != 1:
        text += f" : {step}" if last else f": {step}"
    return text


def _is_beyond(end: Expr) -> bool:
    try:
        return int(end) >= ir.BEYOND - 1
    except ValueError:
        return False


def _subscript(parts: Sequence[str]) -> str | None:
    """Return what stands in the brackets, None where nothing is cut."""
    cut = [axis for axis, part in enumerate(parts) if part != WHOLE]
    if not cut:
        return None
    before, after = parts[: cut[0]], parts[cut[-1] + 1 :]
    if len(before) > 2 and not after:
        before = ["..."]
    return ", ".join([*before, *parts[cut[0] : cut[-1] + 1]])


EXPORTS = table(
    row(ir.Slice, export_slice),
)

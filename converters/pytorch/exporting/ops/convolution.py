"""Convolutions over channel-first tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from graphir.converters.pytorch.exporting.context import AnyNode, ExportNode, Expr, call, row, short, table, tuple_of
from graphir.decisions import DecisionKind
from graphir.ops import convolution as ir
from graphir.padding import Explicit, Padding, resolve, resolve_transposed

WEIGHTS = {"weight": 1, "bias": 2}


def unless(default: object, items: Sequence[object]) -> str | None:
    """Return what a layer takes for each axis, None where that is the default of all."""
    return None if items.count(default) == len(items) else short(items)


def settled(node: AnyNode, padding: Padding, kernel: Sequence[int], strides: Sequence[int],
            dilations: Sequence[int]) -> Explicit | None:  # fmt: skip
    """Return the pads as numbers; None where SAME depends on a size that is open."""
    sizes = () if isinstance(padding, Explicit) else node.shape()[2:]  # numbers need no sizes, nor how many there are
    resolved = resolve(padding, sizes, kernel, strides, dilations)
    if resolved is not None and not isinstance(padding, Explicit) and any(stride > 1 for stride in strides):
        node.decide(DecisionKind.EXPLICIT_PADDING, f"{padding} became pads {resolved.pads} for {node.input(0).type}")
    return resolved


def padded(node: AnyNode, data: Expr, pads: Sequence[tuple[object, object]], value: str | None = None) -> Expr:
    """Return the data with pads around its last axes: F.pad begins with the last one."""
    numbers = [number for pair in reversed(pads) for number in pair]
    return node.step(call("F.pad", data, tuple_of(numbers), value=value), "padded")


def padded_same(node: AnyNode, data: Expr, padding: Padding, kernel: Sequence[int], strides: Sequence[int],
                dilations: Sequence[int], value: str | None = None) -> Expr:  # fmt: skip
    """Return the data with SAME's pads, which the module computes from the sizes that it meets."""
    assert not isinstance(padding, Explicit)
    function = node.function("pad_same")
    lower = "True" if padding.mode.name == "LOWER" else None
    return node.step(
        call(function, data, tuple_of(kernel), tuple_of(strides), tuple_of(dilations), lower=lower, value=value),
        "padded",
    )


def conv_parts(node: ExportNode[Any], data: Expr, slot: int) -> tuple[Expr, tuple[int, ...], dict[str, str | None]]:
    """Return the data as F.conv takes it, the kernel's sizes of the filters in a slot, and F.conv's options. Pads that
    differ by side come before it."""
    op, rank = node.op, node.rank(slot) - 2
    if not 1 <= rank <= 3:
        node.refuse(f"a convolution over {rank} axes; PyTorch has them over 1 to 3")
    kernel = node.sizes(slot, range(2, rank + 2))
    strides, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    resolved = settled(node, op.padding, kernel, strides, dilations)
    ends = () if resolved is None else resolved.pads
    pads, options = _options(ends, strides, dilations, op.group)
    if resolved is None:
        data = padded_same(node, data, op.padding, kernel, strides, dilations)
    elif pads is None:
        data = padded(node, data, ends)
    return data, kernel, dict(options)


@lru_cache(1 << 10)
def _options(
    ends: tuple[tuple[int, int], ...], strides: Sequence[int], dilations: Sequence[int], group: int
) -> tuple[list[int] | None, dict[str, str | None]]:
    """Return the pads that a layer takes, None where it has none for these `ends`, and its options."""
    pads = [before for before, after in ends if before == after >= 0]
    fits = len(pads) == len(ends)
    return pads if fits else None, {
        "stride": unless(1, strides), "padding": unless(0, pads if fits else ()), "dilation": unless(1, dilations),
        "groups": None if group == 1 else str(group),
    }  # fmt: skip


def export_conv(node: ExportNode[ir.Conv]) -> None:
    """nn.Conv1d to nn.Conv3d where the filters are constant, else F.conv."""
    data, kernel, options = conv_parts(node, node.tensor(), 1)
    rank, owned = len(kernel), node.constants(WEIGHTS)
    if owned is not None:
        outputs, inputs = node.sizes(1, (0, 1))
        options["bias"] = None if "bias" in owned else "False"
        layer = node.layer(f"nn.Conv{rank}d", [inputs * node.op.group, outputs, short(kernel)], options, owned)
        node.emit(f"{layer}({data})")
        return
    options["bias"] = None if node.optional(2) is None else str(node.tensor(2))
    node.emit(call(f"F.conv{rank}d", data, node.tensor(1), **options))


def export_conv_transpose(node: ExportNode[ir.ConvTranspose]) -> None:
    """nn.ConvTranspose1d to 3d; what it cannot take off or add at its ends is cropped or padded behind it."""
    op, rank = node.op, node.rank(1) - 2
    if not 1 <= rank <= 3:
        node.refuse(f"a transposed convolution over {rank} axes; PyTorch has them over 1 to 3")
    kernel = node.sizes(1, range(2, rank + 2))
    strides, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    extra = op.output_padding or (0,) * rank
    resolved = resolve_transposed(op.padding, node.shape()[2:], kernel, strides, dilations, extra, op.output_shape)
    if resolved is None:
        node.refuse(f"the output shape {list(op.output_shape)} needs the sizes of {node.input(0).name}")
    pads, extra = resolved
    ends = pads.pads or ((0, 0),) * rank
    common = [max(0, min(pair)) for pair in ends]
    more = [size if size < max(stride, dilation) else 0 for size, stride, dilation in
            zip(extra, strides, dilations, strict=True)]  # fmt: skip
    # What is left to do at each end: a number above 0 adds zeros, one below it crops.
    rest = [
        (crop - before, crop - after + size - added)
        for (before, after), crop, size, added in zip(ends, common, extra, more, strict=True)
    ]
    options = {
        "stride": unless(1, strides), "padding": unless(0, common), "output_padding": unless(0, more),
        "groups": None if op.group == 1 else str(op.group), "dilation": unless(1, dilations),
    }  # fmt: skip
    bias, owned = node.optional(2), node.constants(WEIGHTS)
    if owned is not None:
        inputs, outputs = node.sizes(1, (0, 1))
        options["bias"] = None if "bias" in owned else "False"
        arguments = [inputs, outputs * op.group, short(kernel)]
        layer = node.layer(f"nn.ConvTranspose{rank}d", arguments, options, owned)
        text = f"{layer}({node.tensor()})"
    else:
        options["bias"] = None if bias is None else str(node.tensor(2))
        text = call(f"F.conv_transpose{rank}d", node.tensor(), node.tensor(1), **options)
    if any(any(pair) for pair in rest):
        if bias is not None and any(number > 0 for pair in rest for number in pair):
            node.refuse(f"output padding {list(extra)} beyond the stride of a layer with a bias")
        text = call("F.pad", text, tuple_of([number for pair in reversed(rest) for number in pair]))
    node.emit(text)


def export_deform_conv(node: ExportNode[ir.DeformConv]) -> None:
    """A function of the file, over two axes: torch has deformed convolution in torchvision only."""
    op = node.op
    if node.rank() != 4:
        node.refuse(f"a deformed convolution over {node.rank() - 2} axes; only 2 are written")
    data, (x, y) = node.tensor(), (0, 0)
    pads = op.padding.pads or ((0, 0), (0, 0))
    if op.padding.is_symmetric:
        y, x = (before for before, _ in pads)
    else:
        data = padded(node, data, pads)
    defaults = {"stride": (op.strides, 1), "padding": ((y, x), 0), "dilation": (op.dilations, 1)}
    options = {name: tuple_of(pair) for name, (pair, usual) in defaults.items() if any(n != usual for n in pair)}
    optional = {name: str(node.tensor(slot)) for slot, name in ((3, "bias"), (4, "mask")) if node.optional(slot)}
    groups = {"groups": op.group, "offset_groups": op.offset_group}
    options |= {name: str(count) for name, count in groups.items() if count != 1}
    node.emit(call(node.function("deform_conv2d"), data, node.tensor(1), node.tensor(2), **optional, **options))


EXPORTS = table(
    row(ir.Conv, export_conv),
    row(ir.ConvTranspose, export_conv_transpose),
    row(ir.DeformConv, export_deform_conv),
)

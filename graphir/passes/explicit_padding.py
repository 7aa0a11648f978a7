"""SAME becomes numbers wherever they follow from what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphir.decisions import DecisionKind
from graphir.graph import Graph, Node
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.padding import Explicit, Same, resolve, resolve_transposed
from graphir.types import Dim, Shape

from .outcome import Outcome

KIND = DecisionKind.EXPLICIT_PADDING
_Pool = MaxPool | AveragePool | LpPool


def make_padding_explicit(graph: Graph) -> Outcome:
    """Replace SAME by numbers in every convolution and pooling where they follow; a transposed convolution's output
    shape becomes numbers too. Subgraphs included.

    Stride 1 needs no size, a size that is a known multiple of the stride only that. What needs a size that is not known
    stays SAME. Numbers that hold for the given size only, or that pad one side more, are recorded as decisions. Expects
    inference to have run. Linear in nodes.
    """
    outcome = Outcome()
    for node in list(graph.nodes):
        for inner in node.subgraphs:
            outcome |= make_padding_explicit(inner)
        is_resolved = False
        if isinstance(node.op, Conv | MaxPool | AveragePool | LpPool):
            is_resolved = _resolve_windows(graph, node, node.op)
        elif isinstance(node.op, ConvTranspose):
            is_resolved = _resolve_transposed(graph, node, node.op)
        if is_resolved:
            outcome.note(node.name, "its padding follows from what is known")
    return outcome


def kernel_of(node: Node) -> tuple[int, ...] | None:
    """Return the spatial shape of the window of a convolution or pooling, None if it is not known."""
    op = node.op
    stated: Shape = getattr(op, "kernel_shape", ())
    if not stated and isinstance(op, Conv | ConvTranspose):
        weight = node.inputs[1]
        stated = () if weight is None or weight.shape is None else weight.shape[2:]
    numbers = tuple(size for size in stated if isinstance(size, int))
    return numbers if numbers and len(numbers) == len(stated) else None


def spatial_sizes(node: Node, rank: int) -> tuple[Dim, ...] | None:
    """Return the spatial sizes of a node's first operand, None if it has not `rank` spatial axes or their number is
    open."""
    data = node.inputs[0]
    if data is None or data.shape is None or len(data.shape) != rank + 2:
        return None
    return data.shape[2:]


def _resolve_windows(graph: Graph, node: Node, op: Conv | _Pool) -> bool:
    kernel = kernel_of(node)
    if not isinstance(op.padding, Same) or kernel is None:
        return False
    sizes = spatial_sizes(node, len(kernel))
    if sizes is None:
        return False
    ones = (1,) * len(kernel)
    strides = op.strides or ones
    explicit = resolve(op.padding, sizes, kernel, strides, op.dilations or ones)
    if explicit is None:
        return False
    numbers = replace(op, padding=explicit) if isinstance(op, Conv) else replace(op, padding=explicit, ceil_mode=False)
    replacement = graph.replace(node, numbers)
    if any(stride > 1 for stride in strides) or not explicit.is_symmetric:
        graph.decide(KIND, replacement.name, described(op.padding, sizes, kernel, strides, explicit))
    return True


def _resolve_transposed(graph: Graph, node: Node, op: ConvTranspose) -> bool:
    kernel = kernel_of(node)
    if kernel is None or (isinstance(op.padding, Explicit) and not op.output_shape):
        return False
    ones = (1,) * len(kernel)
    strides = op.strides or ones
    sizes = spatial_sizes(node, len(kernel))
    if sizes is None:
        return False
    zeros = (0,) * len(kernel)
    amounts = resolve_transposed(
        op.padding, sizes, kernel, strides, op.dilations or ones, op.output_padding or zeros, op.output_shape
    )
    if amounts is None:
        return False
    pads, extra = amounts
    replacement = graph.replace(node, replace(op, padding=pads, output_padding=extra, output_shape=()))
    if op.output_shape or not pads.is_symmetric or any(extra):
        text = described(op.padding, sizes, kernel, strides, pads)
        graph.decide(KIND, replacement.name, f"{text}, output padding {list(extra)}" if any(extra) else text)
    return True


def described(
    policy: Same | Explicit, sizes: Sequence[Dim], kernel: Sequence[int], strides: Sequence[int], explicit: Explicit
) -> str:
    """Return what became of a policy at these spatial sizes, as a decision says it."""
    name = f"SAME_{policy.mode.name}" if isinstance(policy, Same) else "the output shape"
    needs_size = any(stride > 1 for stride in strides)
    shown = f" on {'x'.join(map(str, sizes))}" if needs_size else ""
    windows = f"kernel {'x'.join(map(str, kernel))}, stride {'x'.join(map(str, strides))}"
    pads = ", ".join(f"({before}, {after})" for before, after in explicit.pads)
    return f"{name}{shown}, {windows}: pads {pads} (before, after) of each axis"

"""The windows of a model: every convolution and pooling with its padding as policy and as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphir.graph import Graph, Node
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.padding import Explicit, Padding, Same, SameMode, extent, resolve, resolve_transposed, same_total
from graphir.passes.clone import clone
from graphir.passes.explicit_padding import kernel_of, spatial_sizes
from graphir.passes.fold_pad import fold_pads
from graphir.types import UNKNOWN, Dim

WINDOWED = (Conv, ConvTranspose, DeformConv, MaxPool, AveragePool, LpPool)
Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Window:
    """One convolution or pooling. Every tuple has an entry for each spatial axis.

    `pads` are (before, after), None where SAME needs a size that is not known; of a transposed convolution they are
    cropped from the result. `policy` is SAME_UPPER, SAME_LOWER, VALID or explicit. `filters` is the number of output
    channels. `divisor` says what an average is divided by where padding can be among it: "data" or "data and padding".
    """

    name: str
    operator: str
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    sizes: tuple[Dim, ...]
    results: tuple[Dim, ...]
    filters: Dim
    policy: str
    pads: Pads | None
    output_padding: tuple[int, ...] = ()
    divisor: str = ""
    ceil_mode: bool = False

    @property
    def transposed(self) -> bool:
        """Whether this is a transposed convolution."""
        return self.operator == ConvTranspose.__name__

    @property
    def flags(self) -> tuple[str, ...]:
        """What deserves a look: asymmetric, size-dependent, dilated, divisor, ceil."""
        found = []
        if self.pads is not None and any(before != after for before, after in self.pads):
            found.append("asymmetric")
        if self.policy.startswith("SAME") and not self.transposed and any(map(_varies, *self._spans)):
            found.append("size-dependent")
        if any(dilation > 1 for dilation in self.dilations):
            found.append("dilated")
        if self.divisor == "data and padding":
            found.append("divisor")
        if self.ceil_mode:
            found.append("ceil")
        return tuple(found)

    @property
    def also(self) -> str:
        """The policy that gives the same numbers here, if the numbers are explicit; "" if none does."""
        if self.policy != "explicit" or self.pads is None or self.transposed:
            return ""
        for mode in SameMode:
            found = resolve(Same(mode), self.sizes, self.kernel, self.strides, self.dilations)
            if found is not None and found.pads == self.pads:
                return f"SAME_{mode.name}"
        return ""

    @property
    def effective_pads(self) -> Pads | None:
        """The pads that windows reach: what no window reads behind the data does not count. None if sizes are open.

        Negative numbers behind are data that no window reads.
        """
        if self.pads is None or self.transposed:
            return self.pads
        found = []
        for axis, (before, _) in enumerate(self.pads):
            size, count = self.sizes[axis], self.results[axis]
            if not isinstance(size, int) or not isinstance(count, int):
                return None
            span = extent(self.kernel[axis], self.dilations[axis])
            found.append((before, (count - 1) * self.strides[axis] + span - size - before))
        return tuple(found)

    @property
    def _spans(self) -> tuple[tuple[int, ...], ...]:
        return self.kernel, self.strides, self.dilations


def _varies(kernel: int, stride: int, dilation: int) -> bool:
    """Whether SAME pads differently for sizes that differ."""
    start = extent(kernel, dilation) + stride
    return len({same_total(size, kernel, stride, dilation) for size in range(start, start + stride)}) > 1


def find_windows(graph: Graph) -> list[Window]:
    """The windows of a graph in order, those of subgraphs included. A Pad in front counts as the window's own padding.

    The graph stays as it is. Windows whose kernel is not known are left out. Linear in nodes.
    """
    return [window for window, _ in windows_with_nodes(prepared(graph))]


def prepared(graph: Graph) -> Graph:
    """A copy in which every Pad that can is part of the window behind it."""
    copy = clone(graph)
    fold_pads(copy)
    return copy


def windows_with_nodes(graph: Graph) -> Iterator[tuple[Window, Node]]:
    """Each window with its node."""
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from windows_with_nodes(inner)
        if isinstance(node.op, WINDOWED):
            found = _window(node)
            if found is not None:
                yield found, node


def _window(node: Node) -> Window | None:
    op = node.op
    assert isinstance(op, WINDOWED)
    kernel = kernel_of(node)
    if kernel is None:
        return None
    rank = len(kernel)
    ones, zeros = (1,) * rank, (0,) * rank
    sizes = spatial_sizes(node, rank) or (UNKNOWN,) * rank
    shape = node.outputs[0].shape or (UNKNOWN,) * (rank + 2)
    strides, dilations = op.strides or ones, op.dilations or ones
    padding: Padding = op.padding
    output_padding: tuple[int, ...] = ()
    if isinstance(op, ConvTranspose):
        numbers = resolve_transposed(
            padding, sizes, kernel, strides, dilations, op.output_padding or zeros, op.output_shape
        )
        pads = None if numbers is None else numbers[0].pads
        output_padding = op.output_padding or zeros if numbers is None else numbers[1]
    else:
        found = resolve(padding, sizes, kernel, strides, dilations)
        pads = None if found is None else found.pads
    divisor = ""
    if isinstance(op, AveragePool) and (pads is None or any(map(any, pads))):
        divisor = "data and padding" if op.count_include_pad else "data"
    return Window(
        node.name,
        op.name,
        kernel,
        strides,
        dilations,
        sizes,
        shape[2:],
        shape[1],
        _policy(padding),
        pads,
        output_padding,
        divisor,
        getattr(op, "ceil_mode", False) and isinstance(padding, Explicit),
    )


def _policy(padding: Padding) -> str:
    if isinstance(padding, Same):
        return f"SAME_{padding.mode.name}"
    return "VALID" if padding.is_zero else "explicit"


__all__ = ["Pads", "Window", "find_windows", "prepared", "windows_with_nodes"]

"""The windows of a model: every convolution and pooling with its padding as policy and as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphir.analysis.window_forms import counted, drop_lowest, unite_windows
from graphir.graph import Graph, Node
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.ops.shape import Pad, PadMode
from graphir.padding import Explicit, Padding, Same, SameMode, extent, resolve, resolve_transposed, same_total
from graphir.passes.clone import clone
from graphir.passes.explicit_padding import kernel_of, spatial_sizes
from graphir.passes.fold_pad import fill_is_neutral, fill_of, pad_in_front, spatial_pads
from graphir.types import UNKNOWN, Dim

WINDOWED = (Conv, ConvTranspose, DeformConv, MaxPool, AveragePool, LpPool)
Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SlidingWindow:
    """One convolution or pooling. Every tuple has an entry for each spatial axis.

    `pads` are (before, after), None where SAME needs a size that is not known; of a transposed convolution they are
    cropped from the result. `policy` is SAME_UPPER, SAME_LOWER, VALID, explicit, "output shape" (of a transposed
    convolution) or computed (by other nodes of the model). `filters` is the number of output channels. `divisor` says
    what an average is divided by where padding can be among it: "data" or "data and padding"; `include` whether stated
    padding would count. `fill` is what a Pad in front fills the padding with, where that is not what the operator's own
    padding is: reflect, edge, wrap or a number. `pad_node` is the Pad in front that `pads` include, `around` describes
    one that they cannot include; `own_policy` is the operator's policy without it.
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
    include: bool = False
    fill: str = ""
    pad_node: str = ""
    around: str = ""
    own_policy: str = ""

    @property
    def transposed(self) -> bool:
        """Whether this is a transposed convolution."""
        return self.operator == ConvTranspose.__name__

    @property
    def flags(self) -> tuple[str, ...]:
        """What deserves a look: asymmetric, size-dependent, dilated, divisor, ceil, fill."""
        flags = []
        if self.pads is not None and any(before != after for before, after in self.pads):
            flags.append("asymmetric")
        if self.policy.startswith("SAME") and not self.transposed and any(map(_varies, *self._spans)):
            flags.append("size-dependent")
        if any(dilation > 1 for dilation in self.dilations):
            flags.append("dilated")
        if self.divisor == "data and padding":
            flags.append("divisor")
        if self.ceil_mode:
            flags.append("ceil")
        if self.fill or self.around:
            flags.append("fill")
        return tuple(flags)

    @property
    def also(self) -> str:
        """The policy that gives the same numbers here, if the numbers are explicit; "" if none does."""
        if self.policy != "explicit" or self.pads is None or self.transposed:
            return ""
        for mode in SameMode:
            explicit = resolve(Same(mode), self.sizes, self.kernel, self.strides, self.dilations)
            if explicit is not None and explicit.pads == self.pads:
                return f"SAME_{mode.name}"
        return ""

    @property
    def effective_pads(self) -> Pads | None:
        """The pads that windows reach: what no window reads behind the data does not count. None if sizes are open.

        Negative numbers behind are data that no window reads. Of a transposed convolution, what is cropped less what
        the output padding gives back.
        """
        if self.pads is None:
            return None
        if self.transposed:
            extra = self.output_padding or (0,) * len(self.pads)
            return tuple((before, after - more) for (before, after), more in zip(self.pads, extra, strict=True))
        pads = []
        for axis, (before, _) in enumerate(self.pads):
            size, count = self.sizes[axis], self.results[axis]
            if not isinstance(size, int) or not isinstance(count, int):
                return None
            span = extent(self.kernel[axis], self.dilations[axis])
            if "Pool" in self.operator and count == 1 and self.dilations[axis] == 1 and 0 <= before <= span - size:
                before = 0  # the only window holds all data, wherever they lie in it
            pads.append((before, (count - 1) * self.strides[axis] + span - size - before))
        return tuple(pads)

    @property
    def filled(self) -> Pads:
        """The part of the pads that windows reach that a Pad in front fills; rounding up adds what is not filled."""
        reached = self.effective_pads if self.fill else None
        if reached is None or self.pads is None:
            return ()
        return tuple((before, min(after, last)) for (before, after), (_, last) in zip(reached, self.pads, strict=True))

    @property
    def divisors(self) -> tuple[tuple[int, ...], ...] | None:
        """By how many elements each window of an average is divided, for each axis; None if sizes are open."""
        divisors = []
        for axis, (before, after) in enumerate(self.pads or ()):
            size, count = self.sizes[axis], self.results[axis]
            if not isinstance(size, int) or not isinstance(count, int):
                return None
            spans = self.kernel[axis], self.strides[axis], self.dilations[axis]
            around = (before, after) if self.include else (0, 0)
            divisors.append(tuple(counted(size, count, *spans, before, around)))
        return tuple(divisors) if self.pads is not None else None

    @property
    def covers_all(self) -> bool:
        """Whether there is one window, which holds all data and nothing else."""
        plain = self.pads is not None and not any(map(any, self.pads))
        return plain and self.sizes == self.kernel and all(size == 1 for size in self.results)

    @property
    def _spans(self) -> tuple[tuple[int, ...], ...]:
        return self.kernel, self.strides, self.dilations


def _varies(kernel: int, stride: int, dilation: int) -> bool:
    """Return whether SAME pads differently for sizes that differ."""
    start = extent(kernel, dilation) + stride
    return len({same_total(size, kernel, stride, dilation) for size in range(start, start + stride)}) > 1


def find_windows(graph: Graph) -> list[SlidingWindow]:
    """Return the windows of a graph in order, those of subgraphs included. A Pad in front counts as the window's own
    padding, a Slice behind a transposed convolution as its crop.

    The graph stays as it is. Windows whose kernel is not known are left out. Linear in nodes.
    """
    return [window for window, _ in prepared(graph)[1]]


def prepared(graph: Graph) -> tuple[Graph, list[tuple[SlidingWindow, Node]]]:
    """Return a copy in which windows that are made of several nodes are one, and its windows with their nodes."""
    copy = clone(graph)
    drop_lowest(copy)
    pads = {node.name: before.name for node in _nodes(copy) if (before := _pad_of(node)) is not None}
    unite_windows(copy)
    windows = []
    for node in _nodes(copy):
        if isinstance(node.op, WINDOWED):
            window = _window(node)
            if window is not None:
                windows.append((replace(window, pad_node=pads.get(node.name, "")), node))
    return copy, windows


def _nodes(graph: Graph) -> Iterator[Node]:
    """Yield all nodes, those of subgraphs before the node that has them."""
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from _nodes(inner)
        yield node


def _pad_of(node: Node) -> Node | None:
    return pad_in_front(node)[0] if isinstance(node.op, Conv | MaxPool | AveragePool | LpPool) else None


def _window(node: Node) -> SlidingWindow | None:
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
    policy = _policy(padding)
    if isinstance(op, ConvTranspose):
        numbers = resolve_transposed(
            padding, sizes, kernel, strides, dilations, op.output_padding or zeros, op.output_shape
        )
        pads = None if numbers is None else numbers[0].pads
        output_padding = op.output_padding or zeros if numbers is None else numbers[1]
        policy = "output shape" if op.output_shape and isinstance(padding, Explicit) else policy
    else:
        explicit = resolve(padding, sizes, kernel, strides, dilations)
        pads = None if explicit is None else explicit.pads
    window = SlidingWindow(
        node.name,
        op.name,
        kernel,
        strides,
        dilations,
        sizes,
        shape[2:],
        shape[1],
        policy,
        pads,
        output_padding,
        ceil_mode=getattr(op, "ceil_mode", False) and isinstance(padding, Explicit),
        include=getattr(op, "count_include_pad", False),
        own_policy=policy,
    )
    window = _with_windows_outside(node, _with_pad_in_front(node, window))
    if not isinstance(op, AveragePool):
        return window
    if window.pads is None or any(map(any, window.pads)):
        return replace(window, divisor="data and padding" if window.include else "data")
    return replace(window, include=False)


def _with_pad_in_front(node: Node, window: SlidingWindow) -> SlidingWindow:
    """Return the window with the padding of a Pad in front that could not become part of the operator."""
    before = _pad_of(node)
    if before is None:
        return window
    assert isinstance(before.op, Pad)
    order, data = pad_in_front(node)[1], before.inputs[0]
    if data is None or data.shape is None:
        return window
    sizes = tuple(data.shape[axis] for axis in order or range(len(data.shape)))[2:]
    plain = window.pads is not None and not any(map(any, window.pads))
    if plain and before.integers(1) is None:
        return replace(window, policy="computed", pads=None, sizes=sizes)
    pads = spatial_pads(before, order, tuple(PadMode))
    if pads is not None and not any(map(any, pads)):
        return window
    constant = before.op.mode is PadMode.CONSTANT
    number = fill_of(before)
    if pads is None or window.pads is None or (constant and number is None):
        return _behind_pad(window, before, pads)
    averages = window.operator == "AveragePool"
    if averages and window.ceil_mode and not plain:
        return _behind_pad(window, before, pads)
    whole = tuple((a + c, b + d) for (a, b), (c, d) in zip(window.pads, pads, strict=True))
    if constant and fill_is_neutral(node.op, before) and (plain or window.include or not averages):
        united = replace(window, policy="explicit", pads=whole, sizes=sizes, include=averages)
        return united if averages else _round_down(united)
    fill = f"{number:g}" if constant else before.op.mode.value
    if plain:
        return replace(window, policy="explicit", pads=pads, sizes=sizes, fill=fill, include=averages)
    return _behind_pad(window, before, pads)


def _behind_pad(window: SlidingWindow, before: Node, pads: Pads | None) -> SlidingWindow:
    """Return the window with a Pad in front that it cannot include, described by what it does: names tell nothing."""
    assert isinstance(before.op, Pad)
    number = fill_of(before)
    fill = before.op.mode.value
    if before.op.mode is PadMode.CONSTANT:
        fill = "of computed numbers" if number is None else f"{number:g}"
    known = before.integers(1)
    if pads is not None:
        shown = ", ".join(f"({first}, {last})" for first, last in pads)
    else:
        shown = "computed sizes" if known is None else str(list(known))
    if fill.startswith("of") or (pads is None and known is None):
        window = replace(window, policy="computed", pads=None)
    return replace(window, around=f"a Pad {fill} of {shown}")


def _with_windows_outside(node: Node, window: SlidingWindow) -> SlidingWindow:
    """Return the window with the results behind the data that MXNet's convention `full` counts: its importer puts them
    there as constants."""
    users = node.outputs[0].users()
    behind = users[0] if len(users) == 1 else None
    if behind is None or not isinstance(behind.op, Pad) or node.name != f"{behind.name}_inside":
        return window
    shape = behind.outputs[0].shape
    return window if shape is None else replace(window, name=behind.name, results=shape[2:], ceil_mode=True)


def _round_down(window: SlidingWindow) -> SlidingWindow:
    """With ceil mode, what that adds as padding: where rounding up ends it asks what is data, and a Pad makes data."""
    reached = window.effective_pads if window.ceil_mode else None
    if reached is None:
        return window
    return replace(window, pads=tuple((before, max(after, 0)) for before, after in reached), ceil_mode=False)


def _policy(padding: Padding) -> str:
    if isinstance(padding, Same):
        return f"SAME_{padding.mode.name}"
    return "VALID" if padding.is_zero else "explicit"

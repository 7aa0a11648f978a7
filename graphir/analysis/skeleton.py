"""The skeleton of a graph: the nodes that make its structure, without those that only prepare data or scale it.

Two conversions of one network differ in casts, transposes, pads, biases and folded normalizations; they hardly differ
in the skeleton.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from graphir.graph import Graph, Node, Value
from graphir.ops import activation, convolution, elementwise, linear, normalization, pooling, reduction, shape
from graphir.ops.base import Operator
from graphir.ops.shape_parts import Concat
from graphir.padding import Explicit, valid

TRANSPARENT = frozenset(
    {
        *(elementwise.Identity, elementwise.Cast, elementwise.Clip, elementwise.Neg, elementwise.Abs),
        *(shape.Transpose, shape.Reshape, shape.Flatten, shape.Squeeze, shape.Unsqueeze, shape.Pad),
        *(normalization.BatchNormalization,),
        *(activation.Relu, activation.LeakyRelu, activation.Sigmoid, activation.Tanh, activation.HardSigmoid),
    }
)
SCALING = frozenset({elementwise.Add, elementwise.Sub, elementwise.Mul, elementwise.Div, elementwise.PRelu})
KINDS: dict[type[Operator], str] = {
    linear.Gemm: "linear",
    linear.MatMul: "linear",
    pooling.GlobalAveragePool: "mean",
    reduction.ReduceMean: "mean",
    elementwise.Sum: "Add",
}
Label = Callable[[Node], Hashable]


def kind_of(node: Node) -> str:
    """Return what a node does, in one word that formats agree on."""
    return KINDS.get(type(node.op), node.op.shown_name)


def loose_kind(node: Node) -> str:
    """`kind_of`, but a window over all data is a mean, a maximum or a matrix product, which others write it as."""
    whole = {convolution.Conv: "linear", pooling.AveragePool: "mean", pooling.MaxPool: "maximum"}.get(type(node.op))
    if whole is not None and _covers_all(node):
        return whole
    maxima = pooling.GlobalMaxPool, reduction.ReduceMax
    return "maximum" if isinstance(node.op, maxima) else kind_of(node)


def _covers_all(node: Node) -> bool:
    """Return whether a window without padding holds all data."""
    data, result, weight = node.inputs[0], node.outputs[0].shape, node.operand(1)
    kernel = getattr(node.op, "kernel_shape", ()) or (weight.shape[2:] if weight is not None and weight.shape else ())
    plain = getattr(node.op, "padding", None) in (Explicit(), valid(len(kernel)))
    return plain and data is not None and result is not None and data.shape is not None and data.shape[2:] == kernel


def coarse(node: Node) -> Hashable:
    """Return what two versions of one layer share even where one of them is wrong: the kind, kernel and stride."""
    op = node.op
    if isinstance(op, convolution.Conv | convolution.ConvTranspose):
        weight = node.inputs[1]
        kernel = op.kernel_shape or (weight.shape[2:] if weight is not None and weight.shape else ())
        return kind_of(node), kernel, op.strides or (1,) * len(kernel)
    if isinstance(op, pooling.MaxPool | pooling.AveragePool | pooling.LpPool):
        return kind_of(node), op.kernel_shape, op.strides or (1,) * len(op.kernel_shape)
    return kind_of(node)


def fine(node: Node) -> Hashable:
    """`coarse` with the number of channels and the spread of the kernel."""
    op, result = node.op, node.outputs[0].shape
    channels = str(result[1]) if result is not None and len(result) > 1 else ""
    spread = tuple(step for step in getattr(op, "dilations", ()) if step != 1)
    return coarse(node), channels, spread, getattr(op, "group", 1)


class Skeleton:
    """The structural nodes of a graph, in order, with those before and behind each.

    `before[i]` has an entry for each computed operand: the number of the structural node that it comes from over
    transparent ones, -1 where it comes from an input of the graph. `behind[i]` are the nodes that read node i. `depth`
    is the longest way from an input.
    """

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self.before: list[tuple[int, ...]] = []
        self.behind: list[list[int]] = []
        self.depth: list[int] = []
        origin: dict[Value, int | None] = dict.fromkeys(graph.inputs, -1)
        for node in graph.nodes:
            sources = [origin.get(value) for value in node.inputs if value is not None]
            computed = tuple(source for source in sources if source is not None)
            if not computed:
                continue
            if _is_transparent(node, computed):
                index = computed[0]
            else:
                index = len(self.nodes)
                self.nodes.append(node)
                self.before.append(computed)
                self.behind.append([])
                self.depth.append(1 + max((self.depth[source] for source in computed if source >= 0), default=0))
                for source in dict.fromkeys(computed):
                    if source >= 0:
                        self.behind[source].append(index)
            origin.update(dict.fromkeys(node.outputs, index))

    def labels(self, label: Label, rounds: int, *, sort: bool) -> list[list[Hashable]]:
        """Labels of every node that know what lies 0, 1, ... `rounds` steps around it. `sort` forgets operands' order.

        Labels of two skeletons can be compared. Linear in nodes for each round.
        """
        labels: list[list[Hashable]] = [[label(node) for node in self.nodes]]
        for _ in range(rounds):
            last = labels[-1]
            current: list[Hashable] = []
            for index, node in enumerate(self.nodes):
                read = self.before[index]
                sources: list[Hashable] = [last[source] if source >= 0 else "input" for source in read]
                if sort or not isinstance(node.op, Concat):
                    sources = sorted(sources, key=hash)
                users = sorted((last[user] for user in self.behind[index]), key=hash)
                current.append(hash((last[index], tuple(sources), tuple(users))))
            labels.append(current)
        return labels


def _is_transparent(node: Node, computed: tuple[int, ...]) -> bool:
    return len(set(computed)) == 1 and (type(node.op) in TRANSPARENT or type(node.op) in SCALING)

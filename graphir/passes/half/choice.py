"""Which nodes compute in the narrow dtype, and why the others do not."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Cast
from graphir.ops.traits import Rounding
from graphir.runtime.kernels import releases
from graphir.structure.reaching import nodes_within
from graphir.structure.record import record
from graphir.types import DType, TensorType

from .numbers import Form, why_lost, why_out_of_range

TO_WHOLE = frozenset({Rounding.VIEWS, Rounding.MOVES, Rounding.EXACT, Rounding.ROUNDS})
"""How operators round by which numbers become places and lengths, on their way to a Cast to integers."""

LOOPS = frozenset({"Loop", "Scan"})
"""Operators whose bodies run step after step on what the step before left: only heavy ones in them are narrow."""

WIDE_SLOTS: Mapping[str, frozenset[int]] = {"BatchNormalization": frozenset({1, 2, 3, 4}), "Dropout": frozenset({1})}
"""Operands that stay float32 where the others are narrow: variance + epsilon has to keep its digits."""

UNSAID = {
    DType.FLOAT16: frozenset({"Celu"}),
    DType.BFLOAT16: frozenset({"Compress", "ReverseSequence", "Shrink"}),
}
"""Operators that ONNX has not in the dtype, whatever onnxruntime has."""

_TEXTS = {DType.FLOAT16: "float16", DType.BFLOAT16: "bfloat16"}


def moves(op: Operator) -> bool:
    """Return whether an operator moves elements and computes none: in which dtype follows from what it is given."""
    return op.rounding in (Rounding.VIEWS, Rounding.MOVES)


def reads(op: Operator) -> bool:
    """Return whether an operator takes what there is and gives no floats: it takes it in either dtype."""
    return op.rounding in (Rounding.SIZES, Rounding.TESTS)


def is_heavy(op: Operator) -> bool:
    """Return whether an operator is worth a Cast before and behind it."""
    return op.rounding is Rounding.PRODUCTS


def has_kernel(operator: str, dtype: DType) -> bool:
    """Return whether ONNX has an operator in the dtype and the newest onnxruntime that is known here runs it on the
    CPU.

    Where it has no kernel for float16 it goes through float32 by itself.

    >>> has_kernel("Conv", DType.FLOAT16), has_kernel("Conv", DType.BFLOAT16), has_kernel("Reshape", DType.BFLOAT16)
    (True, False, True)
    """
    if operator in UNSAID[dtype]:
        return False
    release = releases()[-1]
    wanted = _TEXTS[dtype]
    rows = [*release.kernels.get(operator, ()), *release.functions.get(operator, ())]
    texts = [text.split() for _, _, taken in rows for text in taken.values()]
    if not rows:
        return dtype is DType.FLOAT16  # a composition of others
    return any(wanted in text for text in texts) or (dtype is DType.FLOAT16 and any("float" in text for text in texts))


WIDE = DType.FLOAT32
WORTH_A_CAST = 64
"""From how many elements on half of their bytes are more than those of a Cast in a file."""


@record
class Kept:
    """Why a node stays float32. `weights` says that its parameters are narrow all the same, with Casts behind them;
    `is_reported` that reports name it, which they do not if it only follows its neighbours."""

    reason: str = ""
    weights: bool = False
    is_reported: bool = True


FOLLOWS = Kept("its operands are float32", is_reported=False)
BETWEEN = Kept("it stands between float32 layers, where it would cost two Casts", is_reported=False)


class HalfChoice:
    """The choice for a graph and the graphs inside it. `kept` holds the nodes that stay float32."""

    def __init__(
        self, graph: Graph, form: Form, measured: Mapping[str, float], keep: Sequence[str], narrow_ends: bool
    ) -> None:
        self.form = form
        self.kept: dict[Node, Kept] = {}
        self.matched: set[str] = set()
        self._graph = graph
        self._measured = measured
        self._keep = keep
        self._narrow_ends = narrow_ends
        self._lost: dict[Value, str] = {}
        self._nodes = list(nodes_within(graph.nodes))
        self._whole = _becoming_whole(self._nodes)
        self._stepped = {body for node in self._nodes if node.op.name in LOOPS for body in node.subgraphs}
        for node in self._nodes:
            reason = self._why(node)
            if reason is not None:
                self.kept[node] = reason
        self._drop_islands()

    def is_narrow(self, node: Node) -> bool:
        """Return whether the node computes in the narrow dtype."""
        return node not in self.kept and is_concerned(node)

    def gives_narrow(self, value: Value) -> bool:
        """Return whether a float32 value is narrow where it is made."""
        if value.dtype is not WIDE:
            return False
        if value.producer is not None:
            return self.is_narrow(value.producer) and not value.producer.subgraphs
        if value.is_parameter:
            return self.is_narrow_weight(value)
        return self.has_narrow_end(value)

    def has_narrow_end(self, value: Value) -> bool:
        """Return whether an input or output of the whole graph is narrow: where that is asked for and its numbers
        fit."""
        if not self._narrow_ends or value.graph is not self._graph or value.dtype is not WIDE or value.is_parameter:
            return False
        return not self.why_wide_end(value)

    def why_wide_end(self, value: Value) -> str:
        """Return what speaks against an input or output that is narrow, "" if nothing."""
        largest = self._measured.get(value.name)
        return "" if largest is None else why_out_of_range(largest, self.form)

    def is_narrow_weight(self, value: Value) -> bool:
        """Return whether a parameter is stored in the narrow dtype: it can be, and a node that uses it wants it so."""
        if value.dtype is not WIDE or value.tensor is None or value.is_held or self.lost(value):
            return False
        return any(self._wants_narrow(node, slot, value.tensor.size) for node, slot in value.uses)

    def lost(self, value: Value) -> str:
        """Return what a parameter loses in the narrow dtype, "" if nothing."""
        if value not in self._lost:
            self._lost[value] = "" if value.tensor is None else why_lost(value.tensor, self.form)
        return self._lost[value]

    def _wants_narrow(self, node: Node, slot: int, size: int) -> bool:
        if slot in WIDE_SLOTS.get(node.op.name, ()):
            return False
        kept = self.kept.get(node)
        if kept is not None:
            return kept.weights and size >= WORTH_A_CAST
        return is_concerned(node) and not node.subgraphs

    def _why(self, node: Node) -> Kept | None:
        """Return why a node stays float32, None if it does not, or has no floats."""
        if not is_concerned(node):
            return None
        if node.subgraphs:
            return Kept("the values that enter and leave its graphs are float32", is_reported=False)
        unknown = [value.name for value in node.inputs if value is not None and _has_unknown_dtype(value)]
        if unknown:
            return Kept(f"the element type of {', '.join(unknown)} is unknown")
        pattern = self._matching_pattern(node)
        if pattern:
            return Kept(f"asked for by {pattern!r}")
        if node.op.stays_wide:
            return Kept(node.op.stays_wide)
        if node.graph in self._stepped and not is_heavy(node.op):
            return Kept("it is a step of a loop, whose roundings add up", is_reported=False)
        if node in self._whole:
            return Kept("its numbers become integers, of which a rounding makes others")
        lost = self._why_lost(node)
        if lost:
            return Kept(lost)
        weights = f"its weights are {self.form.dtype}, with Casts behind them"
        # onnxruntime 1.32 ends the process on a recurrent layer with float16 weights, if its optimisations are off.
        if node.op.rounding is Rounding.STATES:
            return Kept(f"its state is carried from step to step in float32; {weights}", weights=True)
        if not has_kernel(node.op.name, self.form.dtype):
            reason = f"onnxruntime has no {self.form.dtype} {node.op.name} on the CPU"
            return Kept(f"{reason}; {weights}", weights=True)
        if moves(node.op) and not self._moves_narrow(node):
            return FOLLOWS
        return None

    def _matching_pattern(self, node: Node) -> str:
        names = [node.name, *(name for value in node.outputs for name in (value.name, *value.sources))]
        for glob in self._keep:
            if any(fnmatchcase(name, glob) for name in names):
                self.matched.add(glob)
                return glob
        return ""

    def _why_lost(self, node: Node) -> str:
        """Return what of a node's operands and results speaks against the narrow dtype."""
        wide = WIDE_SLOTS.get(node.op.name, ())
        for slot, value in enumerate(node.inputs):
            if value is None or value.dtype is not WIDE or slot in wide:
                continue
            reason = self.lost(value) if value.is_parameter else self._why_measured(value)
            if reason:
                return f"{value.name}: {reason}"
        for value in node.outputs:
            reason = self._why_measured(value) if value.dtype is WIDE else ""
            if reason:
                return f"{value.name}: {reason}"
        return ""

    def _why_measured(self, value: Value) -> str:
        largest = self._measured.get(value.name) if value.graph is self._graph else None
        exact = 2 / self.form.step
        if _is_whole(value) and (largest is None or largest > exact):
            size = "of unknown size" if largest is None else f"up to {largest:g}"
            return f"it holds integers {size}, and {self.form.dtype} has all of them up to {exact:g} only"
        return "" if largest is None else why_out_of_range(largest, self.form)

    def _moves_narrow(self, node: Node) -> bool:
        """Return whether what a node moves is narrow: most of what is computed, or a weight alone."""
        given = [value for value in node.inputs if value is not None and value.dtype is WIDE]
        computed = [value for value in given if not value.is_parameter]
        return 2 * sum(map(self.gives_narrow, computed)) > len(computed) if computed else bool(given)

    def _drop_islands(self) -> None:
        """Keep light nodes with float32 on all sides wide, and let what they feed follow."""
        pending = deque(self._nodes)
        while pending:
            node = pending.popleft()
            if node in self.kept or not is_concerned(node) or is_heavy(node.op) or reads(node.op):
                continue
            follows = moves(node.op) and not self._moves_narrow(node)
            if follows or self._is_island(node):
                self.kept[node] = FOLLOWS if follows else BETWEEN
                pending.extend(user for value in node.outputs for user in value.users())
                pending.extend(
                    value.producer for value in node.inputs if value is not None and value.producer is not None
                )

    def _is_island(self, node: Node) -> bool:
        sources = [value for value in node.inputs if value is not None and value.dtype is WIDE]
        computed = [value for value in sources if not value.is_parameter]
        if not computed or any(self.gives_narrow(value) for value in computed):
            return False
        if any(value.is_held and self.has_narrow_end(value) for value in node.outputs):
            return False
        return not any(
            self.is_narrow(user) or isinstance(user.op, Cast)
            for value in node.outputs if value.dtype is WIDE for user in value.users()
        )  # fmt: skip


def _has_unknown_dtype(value: Value) -> bool:
    """Return whether nothing tells the element type of a tensor: what narrow operands would meet in it."""
    return isinstance(value.type, TensorType) and value.dtype is None


def _is_whole(value: Value) -> bool:
    """Return whether a float value is made of integers: places, lengths, numbers of classes."""
    producer = value.producer
    if producer is None or value.dtype is not WIDE:
        return False
    if isinstance(producer.op, Cast):
        source = producer.inputs[0]
        return source is not None and source.dtype is not None and source.dtype.is_integer and source.dtype.bits > 8
    return producer.op.name == "Range"


def _becoming_whole(nodes: Sequence[Node]) -> set[Node]:
    """Return the light nodes from which integers are made by a Cast, straight or through other such nodes."""
    pending = [
        node.inputs[0] for node in nodes
        if isinstance(node.op, Cast) and node.op.to.is_integer and node.inputs[0] is not None
    ]  # fmt: skip
    result: set[Node] = set()
    while pending:
        value = pending.pop()
        node = value.producer
        if node is None or node in result or node.op.rounding not in TO_WHOLE or value.dtype is not WIDE:
            continue
        result.add(node)
        pending.extend(operand for operand in node.inputs if operand is not None and operand.dtype is WIDE)
    return result


def is_concerned(node: Node) -> bool:
    """Return whether a node takes floats of 32 bits that may become narrow. One that only makes some gives what it
    says."""
    return any(value is not None and value.dtype is WIDE for value in node.inputs) or bool(node.subgraphs)

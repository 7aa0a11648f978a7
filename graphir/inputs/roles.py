"""What a model does with an input of integers: which of them it can take without another meaning.

An index must lie in its table, a divisor must not be 0 (onnxruntime's process ends by a signal), and what becomes a
shape, an axis or a number of rounds must stay what it is for. Any other integer may be any number of its type.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from graphir.graph import Graph, Value
from graphir.node import Node
from graphir.ops import traits_of
from graphir.ops.traits import DecisionTrait
from graphir.types import Dim, DType

T = TypeVar("T")
PASSED_ON = (
    *("Cast", "Clip", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Floor"),
    *("Max", "Min", "Mod", "Split", "Slice", "Expand", "Tile", "Gather", "GatherElements", "GatherND", "Compress"),
)
LOOKUPS = ("Gather", "GatherElements", "GatherND", "OneHot", "ScatterElements", "ScatterND")
# Losses look the scores of labels up, along the classes; they do not count from the end.
LOSSES = frozenset({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
# Operators that compute with the integers of their operands, whatever these are.
COMPUTES = frozenset(
    (
        *("Abs", "Add", "And", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "Clip", "Concat", "Div"),
        *("Equal", "Flatten", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "MatMul", "Max", "Min"),
        *("Mod", "Mul", "Neg", "Relu", "Sign", "Squeeze", "Sub", "Sum", "Transpose", "Unsqueeze", "Where", "Gemm"),
        *("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceSumSquare", "ArgMax", "ArgMin"),
        *("Not", "Or", "Xor", "ConvInteger", "MatMulInteger", "DequantizeLinear", "QLinearConv", "QLinearMatMul"),
        *("BitCast", "CastLike"),
    )
)
# Operators whose first operand is data, and whose others say what is done with it.
MOVES = frozenset(
    (
        *("BitShift", "Compress", "CumSum", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND", "Pad"),
        *("Reshape", "ReverseSequence", "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Tile"),
        *("TopK", "Trilu", "Unique"),
    )
)
# Where lengths of sequences go in, which are at most as long as their axis.
LENGTHS = {"RNN": 4, "GRU": 4, "LSTM": 4, "ReverseSequence": 1}
# Where regions of images go in: the slot of their corners, and that of the indices of their images.
REGIONS = {"RoiAlign": (1, 2), "MaxRoiPool": (1, 1)}
DIVIDES = frozenset({"Div", "Mod"})
# What moves lengths by some.
SHIFTS = frozenset({"Add", "Sub"})
COMPARES = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
# The root of float32's largest number: products of larger ones overflow.
LARGEST_THRESHOLD = 2.0**64
# Beyond it float64 does not count in ones, and no number stands for a kind of anything.
COUNTED = 2.0**53
# So many numbers beside an input are names of kinds; more of them are data.
MOST_MET = 8


class Role(enum.Enum):
    """What an integer input is for: to compute with, to divide by, to compute indices of a table, or to control."""

    NUMBER = "number"
    DIVISOR = "divisor"
    INDEX = "index"
    CONTROL = "control"


@dataclass(frozen=True)
class Table:
    """What an input may be that tables are looked up with: from `low` to `high` its rows lie in all of them, from
    `least` on if rows counted from the end do too. It is `guarded` if whatever lies outside is led back into the table
    (`Clip`, `Mod`). The numbers `ignored` lie outside and look up nothing, such as the label of what has none."""

    low: int
    high: int
    least: int
    guarded: bool
    ignored: frozenset[int] = frozenset()


Span = tuple[int, int]


def _before_product(end: int, factors: Span) -> int:
    """Return the largest number that no factor takes beyond the end."""
    return end // (factors[1] if end >= 0 else factors[0])


def _before_quotient(end: int, divisors: Span) -> int:
    """Return the largest number whose quotients, rounded towards 0, are not beyond the end."""
    return end * divisors[0] + divisors[0] - 1 if end >= 0 else end * divisors[1]


# From the span of an integer result, and the positive constants of the other operand, to the span of the operand.
INVERSES: dict[tuple[str, int], Callable[[Span, Span], Span]] = {
    ("Add", 0): lambda span, other: (span[0] - other[0], span[1] - other[1]),
    ("Add", 1): lambda span, other: (span[0] - other[0], span[1] - other[1]),
    ("Sub", 0): lambda span, other: (span[0] + other[1], span[1] + other[0]),
    ("Sub", 1): lambda span, other: (other[1] - span[1], other[0] - span[0]),
    ("Mul", 0): lambda span, other: (-_before_product(-span[0], other), _before_product(span[1], other)),
    ("Mul", 1): lambda span, other: (-_before_product(-span[0], other), _before_product(span[1], other)),
    ("Div", 0): lambda span, other: (-_before_quotient(-span[0], other), _before_quotient(span[1], other)),
}
POSITIVE = frozenset({"Mul", "Div"})


@dataclass(frozen=True)
class _Path:
    """What happened to a value so far: whether it was led back into a table, the inverses of what was computed, and the
    Where that it is an operand of, with its slot there."""

    guarded: bool = False
    inverses: tuple[Callable[[Span], Span], ...] = field(default=(), compare=False)
    choice: tuple[Node, int] | None = None


def _uses(
    value: Value, mark: T, onward: Callable[[Node, int, T], T | None], *, whole: bool = False
) -> Iterator[tuple[Node, int, T]]:
    """Yield the uses of a value and of what is made of it: node, slot, and the mark there. `onward` gives the mark of a
    node's results, or None where nothing is followed; `whole` follows integers only."""
    pending, seen = [(value, mark)], {(value, mark)}
    while pending:
        reached, mark = pending.pop()
        for node, slot in reached.uses:
            yield node, slot, mark
            following = onward(node, slot, mark)
            for result in node.outputs if following is not None else ():
                if (result, following) not in seen and (not whole or _is_whole(result)):
                    assert following is not None
                    seen.add((result, following))
                    pending.append((result, following))


def table_of(value: Value) -> Table | None:
    """Return what the value may be if tables are looked up with it, as it is or computed with; None if none are.

    A span that no table restricts, since each is guarded, is that of the largest.
    """
    spans: list[tuple[Span, Span, bool]] = []
    chosen: dict[Node, tuple[Span, ...]] = {}
    ignored: set[int] = set()
    for node, slot, path in _uses(value, _Path(), _computed):
        is_label = node.op.name in LOSSES
        if not (is_label or node.op.name in LOOKUPS) or slot != (0 if node.op.name == "OneHot" else 1):
            continue
        rows = max(_rows_of(node), 1)
        ends = [(0, rows - 1), (0 if is_label else -rows, rows - 1)]
        for inverse in reversed(path.inverses):
            ends = [inverse(span) for span in ends]
        choice = path.choice[0] if path.choice is not None else None
        ignored |= _ignored(node if is_label else choice)
        if choice is None or path.guarded:
            spans.append((ends[0], ends[1], path.guarded or node.op.name == "OneHot"))
        else:  # numbers that one operand leads beyond its table are for the other one
            span, whole = chosen.get(choice, ends)
            chosen[choice] = (_joined(span, ends[0]), _joined(whole, ends[1]))
    spans += [(span, whole, False) for span, whole in chosen.values()]
    unguarded = [(span, whole) for span, whole, is_guarded in spans if not is_guarded]
    if not spans:
        return None
    if not unguarded:
        return Table(min(span[0] for span, *_ in spans), max(span[1] for span, *_ in spans), 0, True)
    low, high = max(span[0] for span, _ in unguarded), min(span[1] for span, _ in unguarded)
    least = max(whole[0] for _, whole in unguarded)
    return Table(low, high, least, False, frozenset(ignored)) if low <= high else None


def _joined(span: Span, other: Span) -> Span:
    """Return the numbers of both spans where these meet, else those of the first."""
    meets = max(span[0], other[0]) <= min(span[1], other[1]) + 1
    return (min(span[0], other[0]), max(span[1], other[1])) if meets else span


def _ignored(node: Node | None) -> set[int]:
    """Return the labels that a loss ignores, or what a Where recognizes by its number."""
    if node is None or node.op.name != "Where":
        index = getattr(node and node.op, "ignore_index", None)
        return set() if index is None else {index}
    condition = node.inputs[0]
    test = condition.producer if condition is not None else None
    if test is not None and test.op.name == "Not":
        test = test.inputs[0].producer if test.inputs[0] is not None else None
    if test is None or test.op.name != "Equal":
        return set()
    tensors = [value.tensor for value in test.inputs if value is not None and value.tensor is not None]
    return {int(number) for tensor in tensors if tensor.dtype.is_integer for number in tensor.numpy().reshape(-1)}


def _computed(node: Node, slot: int, path: _Path) -> _Path | None:
    """Return the path through a node, None where nothing leads back from its result."""
    if node.op.name == "Where" and slot > 0:
        return replace(path, choice=path.choice or (node, slot))
    inverse = _inverse(node, slot)
    leads_back = node.op.name == "Mod" or (node.op.name == "Clip" and len(node.inputs) == 3 and None not in node.inputs)
    return None if inverse is None else _Path(path.guarded or leads_back, (*path.inverses, inverse), path.choice)


def _rows_of(node: Node) -> int:
    """Return how many rows a table has, 2 where that is open."""
    table, depth = node.inputs[0], node.inputs[1]
    if node.op.name == "OneHot":
        return int(depth.tensor.numpy().reshape(-1)[0]) if depth is not None and depth.tensor is not None else 2
    if table is None or not table.shape:
        return 2
    axis = 1 if node.op.name in LOSSES else getattr(node.op, "axis", getattr(node.op, "batch_dims", 0))
    count = depth.shape[-1] if node.op.name in ("GatherND", "ScatterND") and depth is not None and depth.shape else 1
    sizes = table.shape[axis:][: count if isinstance(count, int) else 1]
    return min((size if isinstance(size, int) else 2 for size in sizes), default=2)


def _inverse(node: Node, slot: int) -> Callable[[Span], Span] | None:
    """Return what leads from a span of a node's result to one of the operand; None if there is no such thing."""
    if (node.op.name in PASSED_ON and slot == 0) or node.op.name == "Concat":
        return lambda span: span
    inverse = INVERSES.get((node.op.name, slot))
    other = node.inputs[1 - slot] if inverse is not None else None
    if inverse is None or other is None or other.tensor is None or not other.tensor.dtype.is_integer:
        return None
    numbers = other.tensor.numpy()
    if not numbers.size or (node.op.name in POSITIVE and numbers.min() <= 0):
        return None
    ends = int(numbers.min()), int(numbers.max())
    return lambda span: inverse(span, ends)


def role_of(value: Value) -> Role:
    """Return what an integer input is for that is no index itself."""
    def computed(node: Node, slot: int, mark: bool) -> bool | None:
        return None if node.op.name in LOOKUPS and slot == 1 else mark

    role = Role.NUMBER
    for node, slot, _ in _uses(value, True, computed, whole=True):
        name = node.op.name
        if name in LOOKUPS and slot == 1:
            role = Role.INDEX if role is Role.NUMBER else role
        elif name not in COMPUTES and not (name in MOVES and slot == 0):
            return Role.CONTROL
        elif name in DIVIDES and slot == 1:
            role = Role.DIVISOR
    return role


def numbers_met(value: Value) -> list[int]:
    """Return the whole numbers that an integer input is compared with, as it is or moved: a rate of samples, a kind of
    task, what fills up short sentences. Nothing else reaches what stands behind such a comparison."""
    def moved(node: Node, slot: int, mark: bool) -> bool | None:
        return mark if slot == 0 and (node.op.name in PASSED_ON or node.op.name in MOVES) else None

    met: dict[int, None] = {}
    for node, slot, _ in _uses(value, True, moved, whole=True):
        other = node.inputs[1 - slot] if node.op.name in COMPARES else None
        if other is not None and other.tensor is not None and other.tensor.dtype is not DType.STRING:
            numbers = other.tensor.numpy().astype(np.float64).reshape(-1)
            if numbers.size <= MOST_MET:
                met |= dict.fromkeys(int(number) for number in numbers if np.abs(number) < COUNTED and number % 1 == 0)
    return list(met)


def texts_met(value: Value) -> list[str]:
    """Return the texts that the nodes which read an input have: what it is compared with, the keys of a table."""
    held: list[object] = []
    for node, _ in value.uses:
        held += [getattr(node.op, name) for name in node.op.field_names]
        held += [other.tensor.numpy().reshape(-1).tolist() for other in node.inputs
                 if other is not None and other.tensor is not None and other.tensor.dtype is DType.STRING]  # fmt: skip
    texts: dict[str, None] = {}
    while held:
        item = held.pop()
        if isinstance(item, str):
            texts[item] = None
        elif isinstance(item, tuple | list):
            held += item
    return list(texts)


def compared_constants(nodes: Iterable[Node], *, whole: bool = False) -> list[float]:
    """Return the real constants that these nodes compare with, or the whole ones, in ascending order.

    Those beyond LARGEST_THRESHOLD stand for no bound.
    """
    numbers = [np.zeros(0)]
    for node in nodes:
        if node.op.decides:
            tensors = [value.tensor for value in node.inputs if value is not None and value.tensor is not None]
            numbers += [
                tensor.numpy().astype(np.float64).reshape(-1) for tensor in tensors
                if (tensor.dtype.is_integer if whole else tensor.dtype.is_float)
            ]  # fmt: skip
            attributes = [getattr(node.op, name) for name in node.op.field_names]
            numbers += [np.asarray([value]) for value in attributes if isinstance(value, float) and not whole]
    constants = np.unique(np.concatenate(numbers))
    return constants[np.abs(constants) < LARGEST_THRESHOLD].tolist()  # type: ignore[no-any-return]


def largest_threshold(nodes: Iterable[Node]) -> float:
    """Return the largest magnitude of the real constants that these nodes compare with, 0 without any."""
    return max(map(abs, compared_constants(nodes)), default=0.0)


def _is_whole(value: Value) -> bool:
    return value.dtype is None or not (value.dtype.is_float or value.dtype is DType.BOOL)


def length_limit(value: Value) -> Dim | None:
    """Return the size of the axis that the value gives lengths along, for each sequence of a batch; None if it gives
    none.

    It does where an operator takes it for that, where it is compared with the positions along an axis, or where what
    is picked stands one before it."""
    def along(node: Node, slot: int, less: bool) -> bool | None:
        follows = node.op.name in SHIFTS or (node.op.name in PASSED_ON and slot == 0)
        return less or (node.op.name == "Sub" and slot == 0) if follows else None

    for node, slot, less in _uses(value, False, along):
        name = node.op.name
        if LENGTHS.get(name) == slot:
            return _size(node.inputs[0], getattr(node.op, "time_axis", 0))
        if name in COMPARES and (count := _positions(node.inputs[1 - slot])) is not None:
            return count
        if less and name in LOOKUPS and slot == 1:
            return _size(node.inputs[0], getattr(node.op, "axis", getattr(node.op, "batch_dims", 0)))
    return None


def _size(data: Value | None, axis: int) -> Dim | None:
    return data.shape[axis] if data is not None and data.shape is not None and axis < len(data.shape) else None


def _positions(value: Value | None) -> Dim | None:
    """Return how many positions along an axis a value counts, from 0 or 1 on; None if it is something else."""
    while value is not None and value.producer is not None and value.producer.op.name in PASSED_ON:
        value = value.producer.inputs[0]
    if value is None:
        return None
    if value.producer is not None:
        return _size(value, 0) if value.producer.op.name == "Range" else None
    if value.tensor is None or value.tensor.numpy().dtype.kind not in "iuf":
        return None
    numbers = value.tensor.numpy().reshape(-1)
    counted = numbers.size > 1 and numbers[0] in (0, 1) and bool((numbers[1:] - numbers[:-1] == 1).all())
    return int(numbers.size) if counted else None


@dataclass(frozen=True)
class RegionSpace:
    """What regions lie in: how many images, their height and width, and by what corners are multiplied before."""

    images: Dim
    sizes: tuple[Dim, Dim]
    scale: float

    @staticmethod
    def of(value: Value) -> RegionSpace | None:
        """Return what the regions lie in that a value holds, as rows of (image, x1, y1, x2, y2) or of the corners, or
        of their images alone; None if it holds none."""
        def along(node: Node, slot: int, mark: bool) -> bool | None:
            return mark if slot == 0 and node.op.name in PASSED_ON else None

        for node, slot, _ in _uses(value, True, along):
            data = node.inputs[0]
            if slot in REGIONS.get(node.op.name, ()) and data is not None and data.shape is not None:
                images, _, height, width = data.shape
                return RegionSpace(images, (height, width), getattr(node.op, "spatial_scale", 1.0))
        return None


def order_sensitive(graph: Graph) -> list[str]:
    """Return the operators of the graph and of its subgraphs that choose among equal elements: two correct models need
    not choose the same."""
    from graphir.analysis.contents import count_operators

    return sorted(name for name in count_operators(graph) if traits_of(name).decides >= DecisionTrait.ORDERS)

"""What hides keys from queries in attention that is spelled out, as onnxruntime's Attention takes it.

Of a row whose keys are all hidden, a softmax of -inf is NaN, and one of equal numbers is the mean of all values;
onnxruntime gives 0 where a row of the mask is float32's lowest number throughout, or -inf. A mask must be one that this
does not reach. It takes no mask of one row for all queries.
"""

from __future__ import annotations

from math import inf

import numpy as np

from graphir.analysis.ranges import range_of
from graphir.arrays import Array
from graphir.graph import Graph, Node, Value
from graphir.ops.creation import ConstantOfShape
from graphir.ops.elementwise import Cast, Equal, Not, Where
from graphir.ops.shape import Expand, Reshape, Unsqueeze
from graphir.ops.shape_parts import Trilu
from graphir.types import DType, Shape

from ..patterns import Names, number_of

SMALL = 1 << 24  # elements of a constant that is looked at: 4,096 x 4,096
# A score that is this or less has the weight 0 beside others, and what a real score adds to it is rounded away.
HIDES = -1e30
LOWEST = float(np.finfo(np.float32).min)
Masking = tuple[bool, Value | None]


def masking(graph: Graph, node: Node, names: Names, scores: Shape) -> Masking | None:
    """Return whether attention is causal, and its mask; None where onnxruntime computes something else with it.

    `names` has a `mask` that is added to the scores, or the `lowest` number in place of those that a condition names
    (`hidden`) or does not name (`visible`), or neither. `scores` is (batch, heads, queries, keys).
    """
    if "mask" in names:
        mask = names["mask"]
        corner = _corner(mask)
        if corner is not None and corner[0] and corner[1] <= HIDES and scores[2] == scores[3]:
            return True, None
        array = _constant(mask)
        if array is not None:
            return (False, mask) if _fits(mask.shape, scores) and _shows_a_key(mask, array) else None
        bounded = _bounded(graph, node, mask) if _fits(mask.shape, scores) else None
        return None if bounded is None else (False, bounded)
    if "lowest" not in names:
        return False, None
    condition, is_hidden, lowest = names.get("hidden", names.get("visible")), "hidden" in names, names["lowest"]
    number = number_of(lowest)
    if condition is None or number is None or number > HIDES:
        return None
    if scores[2] == scores[3] and _is_causal(condition, is_hidden):
        return True, None
    array = _constant(condition)
    if not _fits(condition.shape, scores) or (number == -inf and (array is None or (array == is_hidden).all(-1).any())):
        return None
    sides = [graph.constant(np.float32(side), name=f"{node.name}_{name}")
             for side, name in ((HIDES, "hidden"), (0.0, "shown"))][:: 1 if is_hidden else -1]  # fmt: skip
    return False, graph.add(Where(), condition, *sides, name=f"{node.name}_mask", before=node)


def _fits(shape: Shape | None, scores: Shape) -> bool:
    """Return whether a mask has a row for each query, and is the same for all or has one for each batch or head."""
    if shape is None or len(shape) < 2 or shape[-2:] != scores[-2:]:
        return False
    ahead = shape[:-2]
    is_whole = len(ahead) == 2 and all(dim in (1, size) for dim, size in zip(ahead, scores[:2], strict=True))
    return is_whole or set(ahead) <= {1}


def _constant(value: Value) -> Array | None:
    tensor = None if value.producer is not None else value.tensor
    return None if tensor is None or tensor.size > SMALL else tensor.numpy()


def _shows_a_key(mask: Value, numbers: Array) -> bool:
    """Return whether a mask of constants has a number in each row that hides nothing."""
    is_real = mask.dtype is DType.FLOAT32 and bool((numbers < inf).all())
    return is_real and bool((numbers.max(axis=-1) > HIDES).all())


def _bounded(graph: Graph, node: Node, mask: Value) -> Value | None:
    """Return a mask that is above float32's lowest number; None where it may hold that, -inf, or inf."""
    low, high = range_of(mask)
    if mask.dtype is DType.FLOAT32 and low > LOWEST and high < inf:
        return mask
    where = mask.producer
    if where is None or not isinstance(where.op, Where):
        return None
    condition, *sides = where.inputs
    numbers = [number_of(side) for side in sides]
    index = next((index for index, number in enumerate(numbers) if number is not None and -inf < number <= HIDES), None)
    shown = None if index is None else sides[1 - index]
    if index is None or shown is None or not HIDES < 10 * range_of(shown)[0] <= 10 * range_of(shown)[1] < -HIDES:
        return None
    sides[index] = graph.constant(np.float32(HIDES), name=f"{node.name}_hidden")
    return graph.add(Where(), condition, *sides, name=f"{node.name}_mask", before=node)


def _is_causal(condition: Value, is_hidden: bool) -> bool:
    """Return whether a condition holds exactly where a key stands behind the query (`is_hidden`), or exactly where it
    does not."""
    array, node = _constant(condition), condition.producer
    if array is not None:
        later = np.triu(np.ones(array.shape[-2:], bool), 1) if array.ndim >= 2 else None
        return later is not None and bool(((array != 0) == (later == is_hidden)).all())
    corner = _corner(condition)
    if corner is not None or node is None:
        return corner is not None and corner[0] == is_hidden
    first, other = (*node.inputs, None)[:2]
    if first is None:
        return False
    match node.op:
        case Not():
            return _is_causal(first, not is_hidden)
        case Equal() if number_of(other) == 0:
            return _is_causal(first, not is_hidden)
        case Cast(to=DType.BOOL):
            return _is_causal(first, is_hidden)
        case Reshape() | Unsqueeze() if _keeps_rows(first, condition):
            return _is_causal(first, is_hidden)
    return False


def _keeps_rows(before: Value, after: Value) -> bool:
    """Return whether two values of the same elements differ by axes of size 1 in front of the last two."""
    first, second = before.shape or (), after.shape or ()
    return len(first) >= 2 and first[-2:] == second[-2:] and set(first[:-2]) | set(second[:-2]) <= {1}


def _corner(value: Value) -> tuple[bool, float] | None:
    """Return whether a value is a number strictly above the diagonal, or on it and below, and the number; None for
    values that are not 0 elsewhere."""
    node = value.producer
    if node is None or node.inputs[0] is None:
        return None
    if isinstance(node.op, Reshape | Unsqueeze) and _keeps_rows(node.inputs[0], value):
        return _corner(node.inputs[0])
    if not isinstance(node.op, Trilu):
        return None
    diagonal = node.operand(1)
    offset = (0,) if diagonal is None else diagonal.integers
    number = _fill(node.inputs[0])
    return (node.op.upper, number) if number and offset == (int(node.op.upper),) else None


def _fill(value: Value) -> float | None:
    """Return the only number of a tensor that holds the same everywhere."""
    array, node = _constant(value), value.producer
    if array is not None and array.size and array.dtype.kind in "bf":
        return float(array.flat[0]) if (array == array.flat[0]).all() else None
    if node is not None and isinstance(node.op, Expand) and node.inputs[0] is not None:
        return _fill(node.inputs[0])
    return float(node.op.value) if node is not None and isinstance(node.op, ConstantOfShape) else None

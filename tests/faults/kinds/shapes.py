"""Faults of shapes, axes, indices, and of what is wired to what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get, put

from .edit import Edit, Fault, always, attribute, each, operator, rank_of, weights

REDUCTIONS = "ReduceMean ReduceSum ReduceMax ReduceMin"


def concat_order(model: Model, node: Node, generator: Generator) -> None:
    """The first two parts exchanged."""
    node.input[0], node.input[1] = node.input[1], node.input[0]


def written_batch(array: Array, generator: Generator) -> Array | None:
    """The batch that the model was traced with (2) for the one that comes."""
    if array.dtype != np.int64 or array.ndim != 1 or array.size < 2 or array[0] != 0:
        return None
    made = array.copy()
    made[0] = 2
    return made


def reordered_rows(model: Model, node: Node, generator: Generator) -> None:
    """The elements read in another order of the last two axes before the reshape, as another layout has them."""
    perm = list(range(rank_of(model, node.input[0])))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    model.before(node, 0, "Transpose", perm=perm)


def can_reorder(model: Model, node: Node) -> bool:
    shape = model.shape(node.input[0]) or ()
    return len(shape) > 2 and shape[-1] > 1 and shape[-2] > 1


def heads_exchanged(model: Model) -> Iterator[Edit]:
    """Number of heads and their size exchanged in the reshapes of one attention."""
    for node in model.nodes("MatMul"):
        parts = tuple(node.name.replace("_scores", f"_{part}_rows") for part in ("query", "key", "value"))
        if node.name.endswith("_scores"):
            yield Edit(parts, _exchange_sizes(parts))


def _exchange_sizes(names: Sequence[str]) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        for name in names:
            node = model.node(name)
            held = model.operand(node, 1)
            assert held is not None
            node.input[1] = model.constant(held[[0, 1, 3, 2]], "sizes")

    return apply


def perms(model: Model, node: Node) -> Iterator[list[int]]:
    """Two axes exchanged, where the shape stays the same for these inputs or not."""
    held = list(get(node, "perm"))
    for first, second in combinations(range(len(held)), 2):
        made = list(held)
        made[first], made[second] = made[second], made[first]
        yield made


def as_reshape(model: Model, node: Node, generator: Generator) -> None:
    """A Reshape to the transposed shape: the sizes are right, the elements are not."""
    position, shaped, order = model.position(node), model.fresh("shape_of"), model.fresh("shape_wanted")
    model.insert(position, "Shape", [node.input[0]], [shaped])
    model.insert(position + 1, "Gather", [shaped, model.constant(np.array(get(node, "perm"), np.int64))], [order])
    model.become(node, "Reshape", [node.input[0], order])


def squeezed_sizes(model: Model, node: Node) -> bool:
    return rank_of(model, node.input[0]) > 1


def other_axes(model: Model, node: Node) -> Iterator[list[int]]:
    rank, held = rank_of(model, node.input[0]), get(node, "axes")
    if held:
        yield from ([axis % rank - 1] for axis in held[:1] if axis % rank > 1)
        yield from ([*held[:-1], held[-1] % rank + 1] for _ in range(1) if held[-1] % rank + 1 < rank)


def moved_axis(array: Array, generator: Generator) -> Array | None:
    return array + (-1 if array.min() > 1 else 1) if array.dtype == np.int64 and array.size else None


def last_index(model: Model, node: Node, generator: Generator) -> None:
    put(node, "select_last_index", 1)


def ends_by_one(array: Array, generator: Generator) -> Array | None:
    return array - 1 if array.dtype == np.int64 and array.size and abs(int(array.min())) < 1 << 30 else None


def begins_by_one(array: Array, generator: Generator) -> Array | None:
    return array + 1 if array.dtype == np.int64 and array.size and abs(int(array.max())) < 1 << 30 else None


def index_by_one(array: Array, generator: Generator) -> Array | None:
    return array + 1 if array.dtype.kind == "i" else None


def both_ends(model: Model, node: Node, generator: Generator) -> None:
    """The window of a Slice moved by one."""
    for slot, step in ((1, 1), (2, 1)):
        held = model.operand(node, slot)
        assert held is not None
        model.give(node, slot, held + step)


def ends_known(model: Model, node: Node) -> bool:
    return all(model.operand(node, slot) is not None for slot in (1, 2))


def outputs_swapped(model: Model) -> Iterator[Edit]:
    """Two outputs of one type exchange what they carry."""
    for first, second in combinations(model.graph.output, 2):
        if first.type.tensor_type.elem_type == second.type.tensor_type.elem_type:
            makers = [model.producer(item.name) for item in (first, second)]
            yield Edit(tuple(node.name for node in makers if node), _swap_outputs(first.name, second.name))


def _swap_outputs(first: str, second: str) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        other = {first: second, second: first}
        for node in model.graph.node:
            for names in (node.input, node.output):
                names[:] = [other.get(name, name) for name in names]
        for item in model.graph.output:
            if item.name in other:
                item.type.tensor_type.ClearField("shape")

    return apply


def inputs_swapped(model: Model) -> Iterator[Edit]:
    """Two inputs of one type exchanged everywhere."""
    for first, second in combinations(model.graph.input, 2):
        if first.type == second.type or first.type.tensor_type.elem_type == second.type.tensor_type.elem_type:
            users = [node.name for item in (first, second) for node, _ in model.users(item.name)]
            yield Edit(tuple(users), _swap_inputs(first.name, second.name))


def _swap_inputs(first: str, second: str) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        other = {first: second, second: first}
        for node in model.graph.node:
            node.input[:] = [other.get(name, name) for name in node.input]

    return apply


def earlier_value(model: Model) -> Iterator[Edit]:
    """An operand taken from one step too early: what its producer takes, of the same shape."""
    for node in model.graph.node:
        for slot, name in enumerate(node.input):
            maker = model.producer(name)
            if maker is None or not maker.input or maker.op_type == "Identity":
                continue
            shape = model.shape(name)
            if not shape or len(shape) < 2 or model.weight(maker.input[0]) is not None:
                continue
            if model.shape(maker.input[0]) == shape:
                yield Edit((node.name, maker.name), _rewire(node.name, slot, maker.input[0]))


def _rewire(name: str, slot: int, value: str) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        model.node(name).input[slot] = value

    return apply


def split_sizes(array: Array, generator: Generator) -> Array | None:
    return array[::-1] if array.dtype == np.int64 and array.size == 2 and array[0] != array[1] else None


def turned_channels(model: Model, node: Node, generator: Generator) -> None:
    """The channels of an image read in reverse: BGR for RGB."""
    axis = next(place for place, size in enumerate(model.shape(node.input[0]) or ()) if size == 3 and place)
    order = model.constant(np.array([2, 1, 0], np.int64))
    model.before(node, 0, "Gather", order, axis=axis)


def reads_image(model: Model, node: Node) -> bool:
    return bool(node.input) and node.input[0] in model.inputs and 3 in (model.shape(node.input[0]) or ())[1:]


FAULTS = (
    Fault("Concat in another order", each("Concat", concat_order, lambda model, node: len(node.input) > 1)),
    Fault("a batch written as 2", weights("Reshape", 1, written_batch)),
    Fault("elements in another order before a Reshape", each("Reshape Flatten", reordered_rows, can_reorder)),
    Fault("heads and their size exchanged", heads_exchanged),
    Fault("Transpose with another order", attribute("Transpose", "perm", perms)),
    Fault("Reshape for Transpose", each("Transpose", as_reshape, squeezed_sizes)),
    Fault("a reduction over another axis", attribute("ReduceMean ReduceMax ReduceMin", "axes", other_axes)),
    Fault("a sum over another axis", weights("ReduceSum", 1, moved_axis)),
    Fault("sum for mean", each("ReduceMean", lambda model, node, generator: model.become(
        node, "ReduceSum", [node.input[0], model.constant(np.array(get(node, "axes"), np.int64))],
        keepdims=get(node, "keepdims", 1)), always)),
    Fault("mean for sum", each("ReduceSum", lambda model, node, generator: model.become(
        node, "ReduceMean", node.input[:1], keepdims=get(node, "keepdims", 1),
        axes=[int(axis) for axis in model.operand(node, 1)]), lambda model, node: model.operand(node, 1) is not None)),  # type: ignore[union-attr]
    Fault("keepdims left out", attribute(REDUCTIONS, "keepdims", lambda model, node: [1 - get(node, "keepdims", 1)])),
    Fault("maximum for minimum", operator("ReduceMin", "ReduceMax", axes=[1])),
    Fault("the last index of an ArgMax", each("ArgMax", last_index, always)),
    Fault(
        "ArgMin for ArgMax", each("ArgMax", lambda model, node, generator: setattr(node, "op_type", "ArgMin"), always)
    ),
    Fault("TopK: the smallest", attribute("TopK", "largest", lambda model, node: [1 - get(node, "largest", 1)])),
    Fault("end of a Slice off by one", weights("Slice", 2, ends_by_one)),
    Fault("begin of a Slice off by one", weights("Slice", 1, begins_by_one)),
    Fault("window of a Slice moved by one", each("Slice", both_ends, ends_known)),
    Fault("index off by one", weights("Gather", 1, index_by_one)),
    Fault("parts of a Split exchanged", weights("Split", 1, split_sizes)),
    Fault("two outputs exchanged", outputs_swapped),
    Fault("two inputs exchanged", inputs_swapped),
    Fault("an operand from one step earlier", earlier_value),
    Fault("BGR for RGB", each("Conv Transpose Cast QuantizeLinear", turned_channels, reads_image)),
    Fault(
        "Concat along another axis",
        attribute(
            "Concat",
            "axis",
            lambda model, node: {*range(1, rank_of(model, node.output[0]))} - {get(node, "axis")},
        ),
    ),
    Fault("CumSum without the last", attribute("CumSum", "exclusive", lambda model, node: [1])),
    Fault("CumSum in reverse", attribute("CumSum", "reverse", lambda model, node: [1])),
    Fault("OneHot: off and on exchanged", weights("OneHot", 2, lambda array, generator: array[::-1])),
)

__all__ = ["FAULTS"]

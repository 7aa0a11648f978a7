"""Lists of tensors: see `converters.tensorflow.lists` for what they become."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.lists import Reserved, element_shape, elements_of, vector_of
from graphir.graph import Value
from graphir.ops.creation import ConstantOfShape
from graphir.ops.indexing import Gather, ScatterND
from graphir.ops.shape import Reshape, Shape, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType, TensorType


def _reserve(node: ImportNode, length: Value) -> Value:
    """Return a list of elements that nobody has written yet."""
    dtype = node.attrs["element_dtype"]
    if not isinstance(dtype, DType):
        node.refuse(f"a list of {dtype}")
    value = node.emit(ConstantOfShape(0.0, dtype), vector_of(node, length))
    node.importer.reserved[value] = Reserved(length, dtype, element_shape(node, 0))
    return value


def import_empty(node: ImportNode) -> Value:
    """EmptyTensorList: no elements; the second operand says how many there may be, which nothing here needs."""
    return _reserve(node, node.constant(0, DType.INT64))


def import_stack(node: ImportNode) -> Value:
    """TensorListStack: the tensor that the list is; a stated number of elements is what it has."""
    value = elements_of(node, node.input(0))
    count = node.attrs["num_elements"]
    if count >= 0 and value.shape is not None:
        node.graph.refine(value, TensorType(None, (count, *value.shape[1:])))
    return value


def take_elements(node: ImportNode) -> Value:
    """Return the element at an index, or those at several."""
    return node.emit(Gather(axis=0), elements_of(node, node.input(0)), node.int64(node.input(1)))


def import_set_item(node: ImportNode) -> Value:
    """TensorListSetItem: the list with one element replaced."""
    item = node.input(2)
    elements = elements_of(node, node.input(0), like=item)
    if node.attrs["resize_if_index_out_of_bounds"]:
        node.refuse("a list that grows when it is written outside of a counted loop")
    index = node.step(Reshape(), node.int64(node.input(1)), node.vector([1, 1]), suffix="index")
    row = node.step(Unsqueeze(), item, node.vector([0]), suffix="row")
    return node.emit(ScatterND(), elements, index, row)


def import_length(node: ImportNode) -> Value:
    """TensorListLength."""
    reserved = node.importer.reserved.get(node.input(0))
    if reserved is not None:
        length = reserved.length
    else:
        first = node.step(Shape(end=1), node.input(0), suffix="sizes")
        length = node.step(Reshape(), first, node.vector([]), suffix="length")
    return _int32(node, length)


def _int32(node: ImportNode, value: Value) -> Value:
    from graphir.ops.elementwise import Cast

    if value.rank:
        value = node.step(Reshape(), value, node.vector([]), suffix="scalar")
    return node.emit(Cast(DType.INT32), value)


def import_push_back(node: ImportNode) -> Value:
    """TensorListPushBack: one element more, at the end."""
    row = node.step(Unsqueeze(), node.input(1), node.vector([0]), suffix="row")
    reserved = node.importer.reserved.get(node.input(0))
    if reserved is not None and reserved.size == 0:
        return row
    return node.emit(Concat(0), elements_of(node, node.input(0), like=node.input(1)), row)


def import_pop_back(node: ImportNode) -> tuple[Value, Value]:
    """TensorListPopBack: the list without its last element, and that."""
    value = elements_of(node, node.input(0))
    rest = node.step(Slice(), value, node.vector([0]), node.vector([-1]), node.vector([0]), suffix="rest")
    return rest, node.step(Gather(axis=0), value, node.constant(-1, DType.INT64), suffix="last")


def import_scatter_existing(node: ImportNode) -> Value:
    """TensorListScatterIntoExistingList: rows of a tensor put at these indices."""
    elements, tensor, indices = node.inputs
    known = node.known(2)
    reserved = node.importer.reserved.get(elements)
    if reserved is not None and known == tuple(range(len(known or ()))) and reserved.size in (len(known or ()), None):
        return tensor
    if reserved is not None and _is_range_of(indices, tensor):
        return tensor
    if reserved is not None:
        node.refuse("rows that are scattered into a list in another order than 0, 1, 2 and so on")
    vectors = node.step(Unsqueeze(), node.int64(indices), node.vector([1]), suffix="places")
    return node.emit(ScatterND(), elements, vectors, tensor)


def _is_range_of(indices: Value, tensor: Value) -> bool:
    """Return whether the indices are computed as 0, 1, 2 and so on, as many as the tensor has rows."""
    from graphir.ops.creation import Range
    from graphir.ops.elementwise import Cast, Identity

    while indices.producer is not None and isinstance(indices.producer.op, Cast | Identity):
        source = indices.producer.inputs[0]
        assert source is not None
        indices = source
    producer = indices.producer
    if producer is None or not isinstance(producer.op, Range):
        return False
    return (producer.integers(0), producer.integers(2)) == ((0,), (1,))


def import_scatter(node: ImportNode) -> Value:
    """TensorListScatter and V2: a list of the rows of a tensor, in the order that the indices state."""
    known = node.integers(1, "the places")
    if len(node) > 3 and node.integers(3, "the number of elements") not in ((-1,), (len(known),)):
        node.refuse("a list of more elements than are put into it")
    if known != tuple(range(len(known))):
        node.refuse("rows that are scattered into a list in another order than 0, 1, 2 and so on")
    return node.input(0)


def import_concat(node: ImportNode) -> tuple[Value, ...]:
    """TensorListConcat and V2: the elements one behind the other along their first axis."""
    value = elements_of(node, node.input(0))
    rank = node.rank(value)
    if rank < 2:
        node.refuse("scalars cannot be joined along an axis")
    sizes = node.step(Shape(start=2), value, suffix="sizes")
    shape = node.step(Concat(0), node.vector([-1]), sizes, suffix="shape") if rank > 2 else node.vector([-1])
    joined = node.emit(Reshape(), value, shape)
    if node.used(1):
        node.refuse("the lengths of the elements that were joined are used")
    return (joined,)


def import_resize(node: ImportNode) -> Value:
    """TensorListResize of a list that has no elements yet."""
    reserved = node.importer.reserved.get(node.input(0))
    if reserved is None:
        node.refuse("a list that is resized after something was written")
    length = node.int64(node.input(1))
    value = node.emit(ConstantOfShape(0.0, reserved.dtype), vector_of(node, length))
    node.importer.reserved[value] = Reserved(length, reserved.dtype, reserved.shape)
    return value


IMPORTS: dict[str, ImportFunction] = {
    "EmptyTensorList": import_empty,
    "TensorListConcat": import_concat,
    "TensorListConcatV2": import_concat,
    "TensorListFromTensor": lambda node: node.input(0),
    "TensorListGather": take_elements,
    "TensorListGetItem": take_elements,
    "TensorListLength": import_length,
    "TensorListPopBack": import_pop_back,
    "TensorListPushBack": import_push_back,
    "TensorListReserve": lambda node: _reserve(node, node.int64(node.input(1))),
    "TensorListResize": import_resize,
    "TensorListScatter": import_scatter,
    "TensorListScatterIntoExistingList": import_scatter_existing,
    "TensorListScatterV2": import_scatter,
    "TensorListSetItem": import_set_item,
    "TensorListStack": import_stack,
}

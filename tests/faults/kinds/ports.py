"""Faults of ports: computed indices, batches, lengths, bodies, windows of equal size, and what shows in no number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get, put

from .edit import Change, Edit, Fault, Sites, always, attribute, attributes, each, weights

FLOAT, INT64 = 1, 7
BEYOND = 1e4
"""Beyond any number that a network is fed with, and what it makes of that."""
WIDE = 1e6
"""Inputs so many times as wide as usual reach beyond that, unless an operator in between bounds what it is given."""
REDUCES = ("axes", "keepdims")
LAYERS = "Conv Gemm MatMul Add Mul Relu"
Step = tuple[str, Sequence[str], Mapping[str, object]]
"""An operator, its operands and attributes: names, `X` for what it is put behind, `0`, `1`, ... for earlier steps."""


def whole(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def chain(model: Model, position: int, start: str, end: str, steps: Sequence[Step]) -> None:
    """Nodes one after the other at a position, the last of which gives `end`."""
    names = {"X": start}
    for place, (kind, operands, attributes_) in enumerate(steps):
        names[str(place)] = end if place == len(steps) - 1 else model.fresh(f"{end}_{kind.lower()}")
        model.insert(
            position + place, kind, [names.get(value, value) for value in operands], [names[str(place)]], **attributes_
        )


def behind(model: Model, node: Node, steps: Sequence[Step]) -> None:
    """Steps between a node's first result and all that use it."""
    end = node.output[0]
    node.output[0] = start = model.fresh(f"{end}_inner")
    chain(model, model.position(node) + 1, start, end, steps)


def before(model: Model, node: Node, slot: int, steps: Sequence[Step]) -> None:
    """Steps between an operand and a node."""
    end = model.fresh(f"{node.name}_before")
    start, position, name = node.input[slot], model.position(node), node.name
    chain(model, position, start, end, steps)
    model.node(name).input[slot] = end


def bounded(*kinds: str) -> Callable[[Model, Node, Generator], None]:
    """A bound that no number reaches behind a node."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        dtype = model.seen[node.output[0]].dtype
        low, high = (model.constant(np.array(end, dtype), "bound") for end in (-BEYOND, BEYOND))
        zero = model.constant(np.array(0, dtype), "zero")
        steps: dict[str, Sequence[Step]] = {
            "Max": [("Max", ["X", low], {})], "Min": [("Min", ["X", high], {})],
            "Clip": [("Clip", ["X", low, high], {})],
            "Where": [("Greater", ["X", high], {}), ("Where", ["0", zero, "X"], {})],
        }  # fmt: skip
        behind(model, node, [step for kind in kinds for step in steps[kind]])

    return apply


def is_real(model: Model, node: Node) -> bool:
    """Whether a result is a real tensor, none of whose numbers come near the bound."""
    found = model.seen.get(node.output[0])
    return found is not None and found.dtype == np.float32 and found.ndim > 1 and np.abs(found).max() < BEYOND / 100


def where(test: Callable[[Array], bool], change: Callable[[Array], Array]) -> Change:
    """A change of real constants that fulfil a condition."""
    return lambda array, generator: (
        change(array).astype(array.dtype) if array.dtype.kind == "f" and array.size and test(array) else None
    )


def is_single(low: float, high: float) -> Callable[[Array], bool]:
    return lambda array: array.size == 1 and low <= abs(float(array.reshape(-1)[0])) <= high


def floored(model: Model, node: Node, generator: Generator) -> None:
    """Whole numbers divided as Python does, not as C."""
    below, double = model.constant(model.operand(node, 1), "divisor"), 11
    steps: Sequence[Step] = [
        ("Cast", [node.input[0]], {"to": double}), ("Cast", [below], {"to": double}), ("Div", ["0", "1"], {}),
        ("Floor", ["2"], {}), ("Cast", ["3"], {"to": INT64}),
    ]  # fmt: skip
    position, end = model.position(node), node.output[0]
    model.remove(node)
    chain(model, position, node.input[0], end, steps)


def divides_whole(model: Model, node: Node) -> bool:
    return model.seen[node.output[0]].dtype == np.int64 and model.operand(node, 1) is not None


def looked_up(steps: Callable[[Model, int], Sequence[Step]]) -> Sites:
    """The indices of a table changed before they are looked up; `steps` get the number of rows."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        rows = (model.shape(node.input[0]) or ())[get(node, "axis", 0)]
        before(model, node, 1, steps(model, rows))

    def is_computed(model: Model, node: Node) -> bool:
        indices = model.seen.get(node.input[1])
        return model.weight(node.input[0]) is not None and indices is not None and indices.ndim > 1

    return each("Gather", apply, is_computed)


def exchanged_number(model: Model, old: int, new: int) -> Sequence[Step]:
    """One whole number for another."""
    first, second = (model.constant(np.array(number, np.int64), "row") for number in (old, new))
    return [("Equal", ["X", first], {}), ("Where", ["0", second, "X"], {})]


def of_batch(steps: Callable[[Model], Sequence[Step]], axis: int = 0) -> Sites:
    """Samples of a batch taken at other places: `steps` make them of 0, 1, ...; `N` is the size of the batch, which
    stands at that axis."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        zero, one = (model.constant(np.array(number, np.int64), "number") for number in (0, 1))
        size = model.constant(np.array(axis, np.int64), "number")
        first: Sequence[Step] = [
            ("Shape", ["X"], {}), ("Gather", ["0", size], {"axis": 0}), ("Range", [zero, "1", one], {}),
        ]  # fmt: skip
        names = {"X": "2", "N": "1", **{str(place): str(place + 3) for place in range(9)}}
        own = [(kind, [names.get(value, value) for value in reads], held) for kind, reads, held in steps(model)]
        behind(model, node, [*first, *own, ("Gather", ["X", str(2 + len(own))], {"axis": axis})])

    def is_batched(model: Model, node: Node) -> bool:
        shape = model.shape(node.output[0]) or ()
        sizes = model.graph.input[0].type.tensor_type.shape.dim
        return len(shape) > axis + 1 and shape[axis] == 2 and len(sizes) > axis and sizes[axis].dim_param == "N"

    return each("Squeeze" if axis else "Conv Relu Gemm MatMul Add", apply, is_batched)


def number(model: Model, value: int) -> str:
    return model.constant(np.array(value, np.int64), "number")


def last_repeated(model: Model, node: Node, generator: Generator) -> None:
    """The last step once more for the sequences that are as long as the longest can be."""
    x, size = node.input[0], node.input[4]
    last = model.constant(whole(-1), "last")
    before(model, node, 4, [
        ("Shape", [x], {}), ("Gather", ["0", number(model, 0)], {"axis": 0}), ("Cast", ["1"], {"to": 6}),
        ("Equal", ["X", "2"], {}), ("Cast", ["3"], {"to": 6}), ("Add", [size, "4"], {}),
    ])  # fmt: skip
    before(model, model.node(node.name), 0, [("Gather", ["X", last], {"axis": 0}), ("Concat", ["X", "0"], {"axis": 0})])


def other_lengths(steps: Callable[[Model], Sequence[Step]]) -> Sites:
    """Other lengths of sequences: `steps` make them of the right ones; `T` is the number of steps, `1` a one."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        slot = 1 if node.op_type == "ReverseSequence" else 4
        dtype = helper.np_dtype_to_tensor_dtype(model.seen[node.input[slot]].dtype)
        first: Sequence[Step] = [
            ("Shape", [node.input[0]], {}), ("Gather", ["0", number(model, 0)], {"axis": 0}),
            ("Cast", ["1"], {"to": dtype}), ("Cast", [number(model, 1)], {"to": dtype}),
        ]  # fmt: skip
        names = {"T": "2", "1": "3", **{f"#{place}": str(place + 4) for place in range(9)}}
        own = [(kind, [names.get(value, value) for value in reads], held) for kind, reads, held in steps(model)]
        before(model, node, slot, [*first, *own])

    def has_lengths(model: Model, node: Node) -> bool:
        slot = 1 if node.op_type == "ReverseSequence" else 4
        return len(node.input) > slot and bool(node.input[slot])

    return each("LSTM GRU ReverseSequence", apply, has_lengths)


def larger_window(model: Model, node: Node) -> Iterator[dict[str, object]]:
    """A window of two more with one more pixel of padding, which keeps the size."""
    kernel, pads = list(get(node, "kernel_shape")), list(get(node, "pads", ()))
    strides = set(get(node, "strides", [1]))
    if pads and strides == {1} and kernel[0] % 2:
        yield {"kernel_shape": [size + 2 for size in kernel], "pads": [size + 1 for size in pads]}


def mirrored_pads(model: Model, node: Node) -> Iterator[list[int]]:
    """What is padded before and behind exchanged."""
    pads = list(get(node, "pads", ()))
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        yield [*pads[half:], *pads[:half]]


def pairs_of(kind: str) -> Sites:
    """The results of two nodes of one operator, which read one value and have one size, exchanged."""

    def sites(model: Model) -> Iterator[Edit]:
        for left, right in combinations(model.nodes(kind), 2):
            alike = left.input[0] == right.input[0]
            if alike and model.shape(left.output[0]) == model.shape(right.output[0]):
                yield Edit((left.name, right.name), _exchange(left.name, right.name))

    return sites


def _exchange(first: str, second: str) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        left, right = model.node(first), model.node(second)
        left.output[0], right.output[0] = right.output[0], left.output[0]

    return apply


def other_axis(model: Model, node: Node) -> Iterator[int]:
    """Another axis of the same size."""
    shape = model.shape(node.input[0]) or ()
    held = get(node, "axis", 0) % max(len(shape), 1)
    yield from (axis for axis in range(1, len(shape)) if axis != held and shape[axis] == shape[held])


def letters(model: Model, node: Node) -> Iterator[str]:
    """Two letters of one operand exchanged, where their sizes are equal."""
    equation = get(node, "equation")
    reads, given = equation.split("->")
    sizes = dict(
        pair for part, name in zip(reads.split(","), node.input, strict=True)
        for pair in zip(part, model.shape(name) or (), strict=True)
    )  # fmt: skip
    terms = [*reads.split(","), given]
    for place, term in enumerate(terms):
        for left, right in combinations(term, 2):
            if sizes[left] == sizes[right]:
                other = term.translate(str.maketrans(left + right, right + left))
                made = [*terms[:place], other, *terms[place + 1 :]]
                yield f"{','.join(made[:-1])}->{made[-1]}"


def inside(kinds: str, change: Callable[[onnx.GraphProto, Node], bool]) -> Sites:
    """Nodes of these operators in the bodies of others; `change` changes one and says whether it applies."""

    def sites(model: Model) -> Iterator[Edit]:
        for outer, name, node in _inner(model):
            graph = copy_of(outer, name)
            if node.op_type in kinds.split() and change(graph, _node_of(graph, node.name)):
                yield Edit((outer.name,), _inside(outer.name, name, node.name, change))

    return sites


def _inner(model: Model) -> Iterator[tuple[Node, str, Node]]:
    """Every node in a body, with the one around and the attribute that is the body."""
    for outer in model.nodes("If", "Loop", "Scan"):
        for held in outer.attribute:
            yield from ((outer, held.name, node) for node in held.g.node)


def copy_of(outer: Node, name: str) -> onnx.GraphProto:
    found = onnx.GraphProto()
    found.CopyFrom(next(held.g for held in outer.attribute if held.name == name))
    return found


def _node_of(graph: onnx.GraphProto, name: str) -> Node:
    return next(node for node in graph.node if node.name == name)


def _inside(
    outer: str, body: str, name: str, change: Callable[[onnx.GraphProto, Node], bool]
) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        graph = next(held.g for held in model.node(outer).attribute if held.name == body)
        change(graph, _node_of(graph, name))

    return apply


def becomes(kind: str, *kept: str) -> Callable[[onnx.GraphProto, Node], bool]:
    """Another operator on the same operands, with these of its attributes."""

    def change(graph: onnx.GraphProto, node: Node) -> bool:
        attributes_ = [held for held in node.attribute if held.name in kept]
        node.op_type = kind
        del node.attribute[:]
        node.attribute.extend(attributes_)
        return True

    return change


def has_attribute(name: str, value: object) -> Callable[[onnx.GraphProto, Node], bool]:
    def change(graph: onnx.GraphProto, node: Node) -> bool:
        put(node, name, value)
        return True

    return change


def weighs(slot: int, elements: Callable[[Array], Array]) -> Callable[[onnx.GraphProto, Node], bool]:
    """Other elements for an operand that the body itself holds."""

    def change(graph: onnx.GraphProto, node: Node) -> bool:
        held = next((tensor for tensor in graph.initializer if tensor.name == node.input[slot]), None)
        if held is None:
            return False
        array = elements(numpy_helper.to_array(held))
        held.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), held.name))
        return True

    return change


def one_more(array: Array) -> Array:
    made = array.copy()
    made.reshape(-1)[made.size // 2] += np.abs(made).max() / 2
    return made


def exchanged(graph: onnx.GraphProto, node: Node) -> bool:
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


def scan_directions(name: str) -> Sites:
    return attribute("Scan", name, lambda model, node: [[1]])


def one_channel(change: Callable[[Array], Array]) -> Change:
    """One element of several changed."""

    def apply(array: Array, generator: Generator) -> Array | None:
        if array.ndim != 1 or array.size < 2:
            return None
        made = array.copy()
        place = int(generator.integers(array.size))
        made[place] = change(made[place])
        return made

    return apply


def contrib(name: str, values: Callable[[float], float]) -> Sites:
    """Another attribute of one of onnxruntime's own operators."""

    def others(model: Model, node: Node) -> Iterator[float]:
        if node.domain and get(node, name) is not None:
            yield values(get(node, name))

    return attribute("FusedMatMul QuickGelu", name, others)


def quick(model: Model, node: Node, generator: Generator) -> None:
    """x * sigmoid(1.702 x) for GELU."""
    if node.domain:
        node.op_type = "QuickGelu"


def directions_of_ends(model: Model, node: Node, generator: Generator) -> None:
    """The last states of both directions exchanged."""
    old = node.output[1]
    node.output[1] = inner = model.fresh(f"{old}_inner")
    model.insert(model.position(node) + 1, "Gather", [inner, model.constant(whole(1, 0))], [old], axis=0)


def columns(order: Sequence[int]) -> Change:
    """Columns of a table of as many in another order."""
    return lambda array, generator: (
        array[:, list(order)] if array.ndim == 2 and array.shape[1] == len(order) and array.dtype.kind == "f" else None
    )


def rows_further(array: Array, generator: Generator) -> Array | None:
    """A table of angles one place further."""
    return np.roll(array, -1, axis=0) if array.ndim == 2 and array.shape[0] > 4 and array.dtype.kind == "f" else None


def silu_slope(model: Model, node: Node, generator: Generator) -> None:
    before(model, node, 0, [("Mul", ["X", model.constant(np.float32(1.702))], {})])


def shared_gate(model: Model, node: Node) -> bool:
    return "gate_sigmoid" in node.name


def border_of_ones(model: Model, node: Node, generator: Generator) -> None:
    put(node, "mode", "constant")
    node.input.append(model.constant(np.float32(1)))


def shifted(step: int) -> Change:
    return lambda array, generator: array + step if array.dtype == np.int64 else None


SILENT = (
    Fault("layer scale of 2e-6 for 1e-6", weights("Mul", 1, where(
        lambda array: 0 < np.abs(array).max() < 1e-5, lambda array: array * 2)), silent=1.0),
    Fault("bias 40 for 60 before a saturated sigmoid", weights("Add", 1, where(
        lambda array: array.min() >= 50, lambda array: array - 20)), silent=300.0),
    Fault("a Max that never acts", each(LAYERS, bounded("Max"), is_real), silent=WIDE),
    Fault("a Min that never acts", each(LAYERS, bounded("Min"), is_real), silent=WIDE),
    Fault("a Clip that never acts", each(LAYERS, bounded("Clip"), is_real), silent=WIDE),
    Fault("a Where that never acts", each(LAYERS, bounded("Where"), is_real), silent=WIDE),
    Fault("an upper bound beyond all numbers", weights("Clip", 2, where(
        is_single(BEYOND / 2, 1e30), lambda array: array / 2)), silent=WIDE),
    Fault("a lower bound beyond all numbers", weights("Clip", 1, where(
        is_single(BEYOND / 2, 1e30), lambda array: array / 2)), silent=WIDE),
    Fault("a threshold beyond all numbers", weights("Greater", 1, where(
        is_single(BEYOND / 2, 1e30), lambda array: array / 2)), silent=BEYOND / 4),
    Fault("a branch that is never taken", each("Where", lambda model, node, generator: before(model, node, 1, [
        ("Mul", ["X", model.constant(np.float32(2))], {})]), lambda model, node: "where0" in node.name
        and is_real(model, node)), silent=4000.0),
)  # fmt: skip
INDICES = (
    Fault("floored for truncated division", each("Div", floored, divides_whole)),
    Fault("remainder of the magnitude", each("Mod", lambda model, node, generator: before(
        model, node, 0, [("Abs", ["X"], {})]), lambda model, node: model.seen[node.output[0]].dtype == np.int64)),
    Fault("indices clipped into the table", looked_up(lambda model, rows: [
        ("Clip", ["X", number(model, 0), number(model, rows - 1)], {})])),
    Fault("a table of which the last quarter is lost", looked_up(lambda model, rows: [
        ("Min", ["X", number(model, rows * 3 // 4)], {})])),
    Fault("a table of which the first quarter is lost", looked_up(lambda model, rows: [
        ("Max", ["X", number(model, rows // 4)], {})])),
    Fault("another word fills up sentences", weights("Equal", 1, shifted(1))),
    Fault("a word that no table has fills up sentences", weights("Equal", 1, shifted(90_000))),
    Fault("magnitudes of indices", looked_up(lambda model, rows: [
        ("Abs", ["X"], {}), ("Min", ["0", number(model, rows - 1)], {})])),
    Fault("the last row of a table never met", looked_up(lambda model, rows: exchanged_number(
        model, rows - 1, rows - 2))),
    Fault("the first row of a table never met", looked_up(lambda model, rows: exchanged_number(model, 0, 1))),
    Fault("an index before the first is the first", looked_up(lambda model, rows: exchanged_number(model, -1, 0))),
    Fault("Trilu: a diagonal more", weights("Trilu", 1, shifted(1))),
    Fault("Trilu: a diagonal less", weights("Trilu", 1, shifted(-1))),
    Fault("Trilu: the other triangle", attribute(
        "Trilu", "upper", lambda model, node: [1 - get(node, "upper", 1)])),
    Fault("CumSum along another axis", weights("CumSum", 1, shifted(1))),
    Fault("OneHot along another axis", attribute("OneHot", "axis", lambda model, node: [1])),
    Fault("GatherElements along another axis", attribute("GatherElements ScatterElements", "axis", other_axis)),
    Fault("ScatterElements: the last one wins", attribute("ScatterElements", "reduction", lambda model, node: [None])),
    Fault("ScatterElements: products", attribute("ScatterElements", "reduction", lambda model, node: ["mul"])),
    Fault("ScatterND: added, not put", attribute("ScatterND", "reduction", lambda model, node: ["add"])),
    Fault("ScatterND: one row further", weights("ScatterND", 1, shifted(1))),
    Fault("Einsum: two letters exchanged", attribute("Einsum", "equation", letters)),
)  # fmt: skip
BATCHES = (
    Fault("a batch beyond eight repeats the eighth", of_batch(lambda model: [("Min", ["X", number(model, 7)], {})])),
    Fault("a batch beyond four repeats the fourth", of_batch(lambda model: [("Min", ["X", number(model, 3)], {})])),
    Fault("steps first: a batch beyond eight repeats the eighth", of_batch(lambda model: [
        ("Min", ["X", number(model, 7)], {})], axis=1)),
    Fault("steps first: a batch beyond four repeats the fourth", of_batch(lambda model: [
        ("Min", ["X", number(model, 3)], {})], axis=1)),
    Fault("the first of a batch for all", of_batch(lambda model: [("Mul", ["X", number(model, 0)], {})])),
    Fault("the second of a batch is the first", of_batch(lambda model: exchanged_number(model, 1, 0))),
    Fault("the last of a batch is the first", of_batch(lambda model: [
        ("Add", ["X", number(model, 1)], {}), ("Equal", ["0", "N"], {}), ("Where", ["1", number(model, 0), "X"], {})])),
)  # fmt: skip
LENGTHS = (
    Fault("the last step of full sequences repeated", each("LSTM GRU", last_repeated, lambda model, node: (
        len(node.input) > 4 and bool(node.input[4])))),
    Fault("the last step of full sequences left out", other_lengths(lambda model: [
        ("Sub", ["T", "1"], {}), ("Max", ["#0", "1"], {}), ("Min", ["X", "#1"], {})])),
    Fault("lengths of two at least", other_lengths(lambda model: [
        ("Add", ["1", "1"], {}), ("Max", ["X", "#0"], {}), ("Min", ["#1", "T"], {})])),
    Fault("lengths one more", other_lengths(lambda model: [("Add", ["X", "1"], {}), ("Min", ["#0", "T"], {})])),
    Fault("lengths one less", other_lengths(lambda model: [("Sub", ["X", "1"], {}), ("Max", ["#0", "1"], {})])),
    Fault("the longest length for all", other_lengths(lambda model: [
        ("ReduceMax", ["X"], {"axes": [0]}), ("Sub", ["X", "X"], {}), ("Add", ["#0", "#1"], {})])),
    Fault("LSTM: input and forget gate coupled", attribute("LSTM", "input_forget", lambda model, node: [1])),
    Fault("last states of directions exchanged", each("LSTM GRU", directions_of_ends, lambda model, node: (
        get(node, "direction") == "bidirectional" and len(node.output) > 1))),
)  # fmt: skip
BODIES = (
    Fault("inside: a weight changed", inside("MatMul", weighs(1, one_more))),
    Fault("inside: weights transposed", inside("MatMul", weighs(1, np.transpose))),
    Fault("inside: another constant", inside("Mul", weighs(1, lambda array: array * np.float32(1.05)))),
    Fault("inside: another upper bound", inside("Clip", weighs(2, lambda array: array * np.float32(0.5)))),
    Fault("inside: another lower bound", inside("Clip", weighs(1, lambda array: array * np.float32(2.0)))),
    Fault("inside: Sigmoid for Tanh", inside("Tanh", becomes("Sigmoid"))),
    Fault("inside: Relu for LeakyRelu", inside("LeakyRelu", becomes("Relu"))),
    Fault("inside: Sub for Add", inside("Add", becomes("Sub"))),
    Fault("inside: another slope", inside("LeakyRelu", has_attribute("alpha", 0.3))),
    Fault("inside: Softmax over another axis", inside("Softmax", has_attribute("axis", -2))),
    Fault("inside: minimum for maximum", inside("ReduceMax", becomes("ReduceMin", *REDUCES))),
    Fault("inside: maximum for mean", inside("ReduceMean", becomes("ReduceMax", *REDUCES))),
    Fault("Scan: read from its end", scan_directions("scan_input_directions")),
    Fault("Scan: written from its end", scan_directions("scan_output_directions")),
)  # fmt: skip
OTHERS = (
    Fault("a window of two more", attributes("MaxPool AveragePool", larger_window)),
    Fault("pads mirrored", attribute("Conv MaxPool AveragePool", "pads", mirrored_pads)),
    Fault("two Resizes exchanged", pairs_of("Resize")),
    Fault("Resize: linear for cubic", attribute("Resize", "mode", lambda model, node: (
        ["linear"] if get(node, "mode") == "cubic" else []))),
    Fault("Resize: another cubic coefficient", attribute("Resize", "cubic_coeff_a", lambda model, node: (
        [-0.75] if get(node, "mode") == "cubic" else []))),
    Fault("Resize: nothing taken from outside", attribute("Resize", "exclude_outside", lambda model, node: (
        [1] if get(node, "mode") == "cubic" else []))),
    Fault("rotary places without a sign", each("Neg", lambda model, node, generator: model.bypass(node), always)),
    Fault("rotary places of neighbours", weights("Mul", 1, columns((0, 2, 1, 3)))),
    Fault("rotary places one further", weights("Mul", 1, rows_further)),
    Fault("ten times an epsilon that is added", weights("Add", 1, where(
        is_single(1e-7, 2e-3), lambda array: array * 10))),
    Fault("a mask that hides too little", weights("Trilu", 0, where(
        lambda array: array.min() <= -1e3, lambda array: array * 2e-4))),
    Fault("a steeper gate", each("Sigmoid", silu_slope, shared_gate)),
    Fault("a threshold moved", weights("Greater", 1, where(is_single(1e-3, 10), lambda array: array + 0.05))),
    Fault("another slope of QuickGelu", contrib("alpha", lambda value: value * 0.9)),
    Fault("QuickGelu for Gelu", each("Gelu", quick, lambda model, node: bool(node.domain))),
    Fault("a scale of one channel", weights("DequantizeLinear", 1, one_channel(lambda one: one * 1.1))),
    Fault("a zero point of one channel", weights("DequantizeLinear", 2, one_channel(lambda one: one + 2))),
    Fault("a border of ones", each("Pad", border_of_ones, lambda model, node: len(node.input) == 2)),
)  # fmt: skip
FAULTS = (*SILENT, *INDICES, *BATCHES, *LENGTHS, *BODIES, *OTHERS)

__all__ = ["FAULTS"]

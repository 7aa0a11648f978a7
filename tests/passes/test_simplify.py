"""Simplification: each rewrite where it fires and where it must not, and that no number changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from graphir.files.regions import FileRegion
from graphir.graph import Graph, Value
from graphir.inference import infer_graph
from graphir.ops.activation import Relu, Sigmoid
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Cast, Clip, Div, Identity, Mul, Neg, Sum
from graphir.ops.foreign import Foreign
from graphir.ops.indexing import Gather
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.pooling import AveragePool, GlobalAveragePool
from graphir.ops.shape import Flatten, Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.padding import Same
from graphir.passes import remove_dead_code, simplify
from graphir.symbolic.dims import symbol
from graphir.tensor import Tensor
from graphir.types import DType
from tests.building import list_operators
from tests.inference.networks import networks, vector, weight
from tests.inference.running import outputs_of
from tests.ops.rule import tensor
from tests.typed import present

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
FEW = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


class Build:
    """A graph over the input x, in the making: `x`, then results by the names that they are given."""

    def __init__(self, type_: str = "float32[2, 3, 4, 5]") -> None:
        self.graph = Graph("sample")
        self.x = self.graph.add_input("x", tensor(type_))

    def add(self, op: Operator, *operands: Value, name: str = "n") -> Value:
        made = self.graph.add_node(op, operands, name=name).outputs[0]
        made.sources = (f"source_{made.name}",)
        return made

    def const(self, *elements: int) -> Value:
        return vector(self.graph, *elements)

    def end(self, *values: Value) -> Graph:
        self.graph.set_outputs([self.add(Neg(), value, name=f"out{index}") for index, value in enumerate(values)])
        return self.graph


CHANGED = [
    # what stands between x and a Neg at the end; what is left
    (lambda b: b.add(Identity(), b.add(Identity(), b.x)), "Neg"),
    (lambda b: b.add(Cast(DType.FLOAT32), b.x), "Neg"),
    (lambda b: b.add(Transpose((0, 1, 2, 3)), b.x), "Neg"),
    (lambda b: b.add(Transpose(LAST), b.add(Transpose(FIRST), b.x)), "Neg"),
    (lambda b: b.add(Transpose(), b.add(Transpose(), b.x)), "Neg"),
    (lambda b: b.add(Transpose((1, 0, 2, 3)), b.add(Transpose(FIRST), b.x)), "Transpose Neg"),
    (lambda b: b.add(Reshape(), b.x, b.const(2, 3, 4, 5)), "Neg"),
    (lambda b: b.add(Reshape(), b.x, b.const(0, 0, -1, 5)), "Neg"),
    (lambda b: b.add(Reshape(), b.add(Reshape(), b.x, b.const(6, 20)), b.const(4, -1)), "Reshape Neg"),
    (lambda b: b.add(Reshape(), b.add(Flatten(), b.x), b.const(4, 30)), "Reshape Neg"),
    (lambda b: b.add(Flatten(), b.add(Flatten(), b.x)), "Flatten Neg"),
    (lambda b: b.add(Flatten(-1), b.add(Reshape(), b.x, b.const(6, 20))), "Reshape Neg"),
    (lambda b: b.add(Reshape(), b.x, b.add(Concat(0), b.add(Gather(), b.add(Shape(), b.x), b.const(0)), b.const(-1))),
     "Reshape Neg"),
    (lambda b: b.add(Add(), b.x, b.add(Transpose((1, 0)), weight(b.graph, 5, 4))), "Add Neg"),
    (lambda b: b.add(Add(), b.x, b.add(Reshape(), weight(b.graph, 20), b.const(4, 5))), "Add Neg"),
    (lambda b: b.add(Add(), b.x, b.add(Squeeze(), weight(b.graph, 1, 5), b.const(0))), "Add Neg"),
    (lambda b: b.add(Add(), b.x, b.add(Unsqueeze(), weight(b.graph, 5), b.const(0))), "Add Neg"),
    (lambda b: b.add(Transpose(LAST), b.add(Relu(), b.add(Transpose(FIRST), b.x))), "Relu Neg"),
    (lambda b: b.add(Transpose(LAST), b.add(Sigmoid(), b.add(Relu(), b.add(Transpose(FIRST), b.x)))),
     "Relu Sigmoid Neg"),
    (lambda b: b.add(Transpose(LAST), b.add(Mul(), b.add(Transpose(FIRST), b.x), b.graph.constant(np.float32(2)))),
     "Mul Neg"),
    (lambda b: b.add(Mul(), b.x, b.graph.constant(np.float32(1))), "Neg"),
    (lambda b: b.add(Mul(), b.graph.constant(np.ones((1, 1), np.float32)), b.x), "Neg"),
    (lambda b: b.add(Div(), b.x, b.graph.constant(np.float32(1))), "Neg"),
]  # fmt: skip

KEPT = [
    (lambda b: b.add(Mul(), b.x, b.graph.constant(np.float32(1.0000001))), "Mul Neg"),
    (lambda b: b.add(Mul(), b.x, b.graph.constant(np.ones((1, 1, 1, 1, 1), np.float32))), "Mul Neg"),
    (lambda b: b.add(Div(), b.graph.constant(np.float32(1)), b.x), "Div Neg"),
    (lambda b: b.add(Add(), b.x, b.graph.constant(np.float32(0))), "Add Neg"),
    (lambda b: b.add(Cast(DType.FLOAT16), b.x), "Cast Neg"),
    (lambda b: b.add(Transpose(FIRST), b.x), "Transpose Neg"),
    (lambda b: b.add(Reshape(), b.x, b.const(3, 2, 4, 5)), "Reshape Neg"),
    (lambda b: b.add(Flatten(2), b.x), "Flatten Neg"),
    (lambda b: b.add(Add(), b.add(Transpose(FIRST), b.x), weight(b.graph, 4)), "Transpose Add Neg"),
    (lambda b: b.add(Relu(), b.add(Transpose(FIRST), b.x)), "Transpose Relu Neg"),
    (lambda b: b.add(Transpose(LAST), b.add(Add(), b.add(Transpose(FIRST), b.x), weight(b.graph, 4))),
     "Transpose Add Transpose Neg"),
    (lambda b: b.add(Transpose(LAST), b.add(AveragePool((2, 2)), b.add(Transpose(FIRST), b.x))),
     "Transpose AveragePool Transpose Neg"),
]  # fmt: skip


@pytest.mark.parametrize(("between", "expected"), CHANGED)
def test_changed(between: Callable[..., Any], expected: str) -> None:
    build = Build()
    graph = build.end(between(build))
    before = outputs_of(graph)
    assert simplify(graph)
    graph.check()
    assert list_operators(graph) == expected
    assert not simplify(graph)
    after = outputs_of(graph)
    np.testing.assert_array_equal(after.pop("out0"), before.pop("out0"))
    assert (before, after) == ({}, {})


@pytest.mark.parametrize(("between", "expected"), KEPT)
def test_kept(between: Callable[..., Any], expected: str) -> None:
    build = Build()
    graph = build.end(between(build))
    text = str(graph)
    assert not simplify(graph)
    assert (list_operators(graph), str(graph)) == (expected, text)


@pytest.mark.parametrize(("shape", "wanted", "expected"), [
    ("float32[N, 4]", (-1, 4), "Neg"), ("float32[N, 4]", (0, 0), "Neg"), ("float32[?, 4]", (-1, 4), "Reshape Neg"),
    ("float32[N, M]", (0, -1), "Neg"), ("float32[N, M]", (-1, 4), "Reshape Neg"),
])  # fmt: skip
def test_reshapes_of_symbolic_sizes(shape: str, wanted: tuple[int, ...], expected: str) -> None:
    build = Build(shape)
    graph = build.end(build.add(Reshape(), build.x, build.const(*wanted)))
    simplify(graph)
    assert list_operators(graph) == expected


@pytest.mark.parametrize("zeros", [True, False])
def test_reshapes_that_copy_a_size_do_not_merge(zeros: bool) -> None:
    build = Build()
    inner = build.add(Reshape(), build.x, build.const(6, 4, 5))
    wanted = (0, -1) if zeros else (6, 20)
    graph = build.end(build.add(Reshape(allowzero=not zeros), inner, build.const(*wanted)))
    simplify(graph)
    assert list_operators(graph) == "Reshape Reshape Neg"


@pytest.mark.parametrize("op", [Identity(), Cast(DType.FLOAT32), Transpose((0, 1, 2, 3))])
def test_names_of_outputs_stay(op: Operator) -> None:
    """The result of the node before takes the name of the output; an input keeps its own, so the node stays."""
    build = Build()
    inner = build.add(Relu(), build.x, name="inner")
    build.graph.set_outputs([build.add(op, inner, name="result"), build.add(op, build.x, name="copy")])
    simplify(build.graph)
    build.graph.check()
    assert [value.name for value in build.graph.outputs] == ["result", "copy"]
    assert list_operators(build.graph) == f"Relu {op.name}"
    assert build.graph["result"].sources == ("source_inner", "source_result")


def test_two_names_for_one_result_stay() -> None:
    build = Build()
    inner = build.add(Relu(), build.x, name="inner")
    build.graph.set_outputs([inner, build.add(Identity(), inner, name="again")])
    assert not simplify(build.graph)
    assert [value.name for value in build.graph.outputs] == ["inner", "again"]


def test_outputs_that_are_known_or_rearranged_parameters_stay() -> None:
    build = Build()
    held = build.graph.add_parameter("w", Tensor.of(np.ones((2, 3), np.float32)))
    build.graph.set_outputs([build.add(Shape(), build.x, name="s"), build.add(Transpose(), held, name="t")])
    assert not simplify(build.graph)
    assert list_operators(build.graph) == "Shape Transpose"


def test_sources_survive() -> None:
    build = Build()
    value = build.add(Identity(), build.add(Relu(), build.x, name="relu"), name="copy")
    value = build.add(Transpose(FIRST), build.add(Transpose(LAST), value, name="there"), name="back")
    graph = build.end(value)
    simplify(graph)
    assert graph["relu"].sources == ("source_relu", "source_copy", "source_back")


def stored(build: Build, shape: tuple[int, ...]) -> Value:
    made = build.graph.add_parameter("w", Tensor.at("weights.bin", 64, DType.FLOAT32, shape))
    made.sources = ("arg:w",)
    return made


@pytest.mark.parametrize(("op", "shape", "region"), [
    (Transpose((1, 0)), (20, 3), False), (Transpose((0, 2, 1)), (3, 1, 20), True), (Flatten(), (3, 4, 5), True),
])  # fmt: skip
def test_rearranged_parameters_stay_in_their_file(op: Operator, shape: tuple[int, ...], region: bool) -> None:
    build = Build("float32[2, 3]")
    graph = build.end(build.add(MatMul(), build.x, build.add(Flatten(), build.add(op, stored(build, shape)))))
    simplify(graph)
    (made,) = graph.parameters
    assert (list_operators(graph), made.name, made.shape) == ("MatMul Neg", "w", (3, 20))
    assert present(made.tensor).region == (FileRegion("weights.bin", 64, 240) if region else None)
    assert made.sources[0] == "arg:w"


def test_a_parameter_shared_by_equal_transposes_is_stored_once() -> None:
    build = Build("float32[2, 300]")
    shared = stored(build, (400, 300))
    products = [build.add(MatMul(), build.x, build.add(Transpose((1, 0)), shared)) for _ in range(3)]
    graph = build.end(build.add(Add(), build.add(Add(), *products[:2]), products[2]))
    simplify(graph)
    graph.check()
    assert [(value.name, value.shape) for value in graph.parameters] == [("w", (300, 400))]
    assert list_operators(graph) == "MatMul MatMul MatMul Add Add Neg"


@pytest.mark.parametrize(("rows", "expected"), [(400, "Transpose MatMul Gemm Add Neg"), (4, "MatMul Gemm Add Neg")])
def test_large_parameters_are_not_stored_twice(rows: int, expected: str) -> None:
    build = Build("float32[2, 300]")
    shared = stored(build, (rows, 300))
    product = build.add(MatMul(), build.x, build.add(Transpose((1, 0)), shared))
    graph = build.end(build.add(Add(), product, build.add(Gemm(transB=True), build.x, shared)))
    simplify(graph)
    graph.check()
    assert list_operators(graph) == expected


def nhwc(blocks: int) -> Graph:
    """A residual network of channel-last layers, each convolution between two transposes as importers write it."""
    build = Build("float32[1, 6, 6, 4]")
    value = build.add(Identity(), build.x)
    for _ in range(blocks):
        start = value
        for activation in (Relu(), None):
            kernel = build.add(Transpose((3, 2, 0, 1)), weight(build.graph, 3, 3, 4, 4))
            inner = build.add(Transpose(FIRST), value)
            value = build.add(Transpose(LAST), build.add(Conv((3, 3), padding=Same()), inner, kernel))
            value = value if activation is None else build.add(activation, value)
        value = build.add(Relu(), build.add(Add(), value, start))
    inner = build.add(Transpose(FIRST), value)
    return build.end(build.add(Transpose(LAST), build.add(GlobalAveragePool(), inner)))


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_transposes_of_channel_last_networks_cancel(blocks: int) -> None:
    graph = nhwc(blocks)
    before = outputs_of(graph)["out0"]
    simplify(graph)
    graph.check()
    np.testing.assert_allclose(outputs_of(graph)["out0"], before, rtol=0, atol=1e-6)
    assert list_operators(graph).count("Transpose") <= 2 + 2
    assert not simplify(graph)


def test_a_transpose_that_is_wanted_twice_is_moved_once() -> None:
    build = Build("float32[1, 6, 6, 4]")
    start = build.add(Relu(), build.x)
    inner = build.add(Conv((1, 1)), build.add(Transpose(FIRST), start), weight(build.graph, 4, 4, 1, 1))
    total = build.add(Sum(), build.add(Transpose(LAST), inner), start, start)
    graph = build.end(build.add(Transpose(FIRST), total))
    before = outputs_of(graph)["out0"]
    simplify(graph)
    graph.check()
    assert list_operators(graph) == "Relu Transpose Conv Sum Neg"
    np.testing.assert_array_equal(outputs_of(graph)["out0"], before)


def test_clip_between_transposes() -> None:
    build = Build()
    low, high = (build.graph.constant(np.float32(bound)) for bound in (0, 6))
    inner = build.add(Clip(), build.add(Transpose(FIRST), build.x), low, high)
    graph = build.end(build.add(Transpose(LAST), inner))
    simplify(graph)
    assert list_operators(graph) == "Clip Neg"


def test_subgraphs_may_hold_what_is_around_them() -> None:
    build = Build()
    copied = build.add(Identity(), build.add(Relu(), build.x, name="relu"), name="copied")
    inner = Graph("inner", parent=build.graph)
    inner.set_outputs([inner.add(Identity(), copied, name="given")])
    build.graph.add_node(Foreign("test", "Branch"), [build.x], subgraphs=[inner])
    graph = build.end(copied, build.graph["Foreign"])
    simplify(inner)
    simplify(graph)
    graph.check()
    assert list_operators(inner) == "Identity"
    assert present(inner["given"].producer).inputs == (graph["relu"],)


def test_dead_code() -> None:
    build = Build()
    alive = build.add(Relu(), build.x, name="alive")
    build.add(Add(), build.add(Neg(), alive), weight(build.graph, 5))
    kept = weight(build.graph, 5)
    graph = build.end(build.add(Add(), alive, kept))
    unused = graph.add_input("unused")
    assert remove_dead_code(graph)
    graph.check()
    assert (list_operators(graph), graph.parameters, graph.inputs) == ("Relu Add Neg", (kept,), (build.x, unused))
    assert not remove_dead_code(graph)


def test_parameters_that_are_outputs_are_alive() -> None:
    build = Build()
    held = weight(build.graph, 5)
    build.graph.set_outputs([held])
    assert not remove_dead_code(build.graph)
    assert build.graph.parameters == (held,)


@given(networks())
@FEW
def test_no_number_changes(graph: Graph) -> None:
    assume(graph.outputs)
    graph.check()
    names = [value.name for value in graph.outputs]
    before, types = outputs_of(graph), [value.type for value in graph.outputs]
    simplify(graph)
    graph.check()
    assert [value.name for value in graph.outputs] == names
    assert [value.type for value in graph.outputs] == types
    after = outputs_of(graph)
    changed = [name for name in names if not np.array_equal(before[name], after[name], equal_nan=True)]
    assert changed == []
    infer_graph(graph)
    assert [value.type for value in graph.outputs] == types


@given(networks())
@FEW
def test_once_is_enough(graph: Graph) -> None:
    simplify(graph)
    text = str(graph)
    assert (simplify(graph).changes, str(graph)) == ([], text)


def test_symbolic_sizes_stay() -> None:
    build = Build("float32[N, 4]")
    graph = build.end(build.add(Add(), build.x, weight(build.graph, 4)))
    simplify(graph)
    assert graph.outputs[0].shape == (symbol("N"), 4)

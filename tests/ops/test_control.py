"""Rules of the operators that run graphs."""

from __future__ import annotations

import pytest

from graphir.errors import GraphError
from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.ops.control import If, Loop, Scan, common_type, declare
from graphir.ops.elementwise import Neg
from graphir.types import ANYTHING, DType, OptionalType, SequenceType, SparseTensorType, TensorType, Type, parse_shape
from tests.ops.harness import bad, good
from tests.ops.rule import tensor

OPEN = [str(ANYTHING)] * 2
GOOD = (
    (If(2), "b[]", OPEN),
    (Loop(2), "i[] b[] f[2]", OPEN),
    (Loop(2), "- - f[2]", OPEN),
    (Scan(1, 2), "f[2] f[5,2]", OPEN),
)
test_results = good(GOOD)

BAD = (
    (If(1), "f[]", "the condition is float32"),
    (If(1), "b[] b[]", "If takes cond, found 2 operands"),
    (Loop(1), "i[] f[] f[2]", "cond"),
    (Loop(1), "f[] b[] f[2]", "M is float32"),
    (Scan(1), "", "found 0 operands"),
)
test_refused = bad(BAD)


def test_a_loop_may_carry_nothing() -> None:
    assert (Loop.least_inputs, Loop.most_inputs) == (0, None)


def test_declared_results_go_on() -> None:
    graph = Graph()
    node = graph.add_node(If(1), [graph.add_input("c", TensorType(DType.BOOL, ()))], name="y")
    declare(node.output, TensorType(DType.FLOAT32, (2,)))
    graph.set_outputs([graph.add(Neg(), node.output, output="z")])
    assert infer_types(graph)["z"] == TensorType(DType.FLOAT32, (2,))


def test_a_body_belongs_to_the_graph_around() -> None:
    graph = Graph()
    condition = graph.add_input("c", TensorType(DType.BOOL, ()))
    with pytest.raises(GraphError, match="was not made with this graph as its parent"):
        graph.add_node(If(1), [condition], subgraphs=[Graph("then"), Graph("else")])


I8 = DType.INT8
F2, F3, I2 = TensorType(DType.FLOAT32, (2, 3)), TensorType(DType.FLOAT32, (2, 4)), TensorType(DType.INT64, (2, 3))
COMMON = (
    (F2, F2, F2),
    (F2, F3, tensor("f[2,?]")),
    (F2, I2, tensor("[2,3]")),
    (F2, tensor("f[2]"), tensor("f[...]")),
    (SequenceType(F2), SequenceType(F3), SequenceType(TensorType(DType.FLOAT32, parse_shape("2,?")))),
    (OptionalType(F2), OptionalType(F2), OptionalType(F2)),
    (SparseTensorType(I8, (2,)), SparseTensorType(I8, (3,)), SparseTensorType(I8, parse_shape("?"))),
    (F2, SequenceType(F2), ANYTHING),
)


@pytest.mark.parametrize(("left", "right", "both"), COMMON)
def test_what_two_types_have_in_common(left: Type, right: Type, both: Type) -> None:
    assert common_type(left, right) == both
    assert common_type(right, left) == both

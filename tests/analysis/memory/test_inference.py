"""Memory of a run of any graph: lives, views, branches, sizes that are open, and the report of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from graphir import memory
from graphir.analysis.memory.blocks import Sharing, plan_blocks
from graphir.analysis.memory.inference import inference_program
from graphir.analysis.memory.liveness import alive_at, find_liveness
from graphir.analysis.memory.program import Held, OperatorRun, Phase, Program, TensorKind
from graphir.errors import GraphError, ShapeError
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.linear import MatMul
from graphir.ops.shape import Flatten
from graphir.report.memory_picture import COLUMNS, columns, timeline_html, timeline_svg
from graphir.symbolic.dims import symbol
from graphir.types import DType, TensorType
from tests.report.pages import check_page


def network(batch: int | str = 4, dtype: DType = DType.FLOAT32) -> Graph:
    """Data of 64 elements a row, a product to 16, a relu, and a view of it."""
    graph = Graph("net")
    rows = symbol(batch) if isinstance(batch, str) else batch
    data = graph.add_input("x", TensorType(dtype, (rows, 64)))
    weight = graph.constant(np.zeros((64, 16), dtype.numpy()), name="weight")
    product = graph.add(MatMul(), data, weight, name="product")
    active = graph.add(Relu(), product, name="active")
    graph.set_outputs([graph.add(Flatten(), active, name="flat")])
    return graph


def test_lives_of_a_run() -> None:
    report = memory(network())
    assert report.peak == 2 * 4 * 16 * 4  # the product and its relu; the view takes nothing
    assert report.program.bytes_of(TensorKind.INPUT) == 4 * 64 * 4
    assert report.program.bytes_of(TensorKind.PARAMETER) == 64 * 16 * 4
    assert report.program.steps[report.liveness.peak_step].operator == "Relu"
    names = [report.program.tensors[held.tensor].name for held in report.at_peak]
    assert len(names) == 2
    assert report.total == 2 * 4 * 16 * 4


@pytest.mark.parametrize(
    "dtype, counted, peak", [(DType.FLOAT32, False, 512), (DType.FLOAT16, False, 256), (DType.FLOAT64, False, 1024)]
)
def test_sizes_are_those_of_dtypes(dtype: DType, counted: bool, peak: int) -> None:
    assert memory(network(dtype=dtype), mxnet=counted).peak == peak


def test_open_sizes_are_named() -> None:
    with pytest.raises(ShapeError, match=r"among them x float32\[N, 64\]; the open sizes are N; .* such as -i x:1,64"):
        memory(network("N"))


def test_open_sizes_are_given() -> None:
    graph = network("N")
    assert memory(graph, shapes={"x": (4, 64)}).peak == memory(network()).peak
    assert str(graph.inputs[0].type) == "float32[N, 64]"


def test_a_shape_for_no_input() -> None:
    with pytest.raises(GraphError, match="'y' is no input of the graph; its inputs are: x"):
        memory(network(), shapes={"y": (4, 64)})


def test_training_of_a_graph_that_is_not_mxnet() -> None:
    report = memory(network(), training=True)
    assert {step.phase for step in report.program.steps} == {Phase.FORWARD, Phase.BACKWARD}
    assert report.program.bytes_of(TensorKind.RETURNED) == 4 * 64 * 4 + 64 * 16 * 4


def chain(sizes: list[int], *, views: bool = False) -> Program:
    """A program of steps in a row, each of which reads the result before."""
    program = Program([Held("x", 1, 8, TensorKind.INPUT)])
    for number, size in enumerate(sizes):
        program.tensors.append(Held(f"t{number}", size, 8, TensorKind.ACTIVATION, number, (size,), "int8"))
        step = OperatorRun(f"s{number}", "Op", [number], [number + 1], in_place=((0, 0, True),) if views else ())
        program.steps.append(step)
    program.outputs = [len(sizes)]
    return program


def test_liveness_by_hand() -> None:
    found = find_liveness(chain([5, 1, 7, 2]))
    assert found.live == (5, 6, 8, 9)
    assert (found.peak, found.peak_step) == (9, 3)
    assert [held.nbytes for held in alive_at(chain([5, 1, 7, 2]), found, 3)] == [7, 2]


def test_views_take_nothing() -> None:
    assert find_liveness(chain([5, 5, 5], views=True)).live == (5, 5, 5)


@pytest.mark.parametrize("reach, sizes", [(16, (7, 2)), (0, (5, 1, 7, 2)), (1, (5, 1, 7, 2))])
def test_blocks_by_hand(reach: int, sizes: tuple[int, ...]) -> None:
    assert plan_blocks(chain([5, 1, 7, 2]), Sharing(match_range=reach)).sizes == sizes


def test_blocks_hold_what_lives() -> None:
    program = chain([3, 9, 2, 9, 4, 1, 8])
    assert plan_blocks(program).total >= find_liveness(program).peak


def test_a_long_program_is_a_picture_of_few_columns() -> None:
    live = list(range(100_000))
    found = columns(live, [Phase.FORWARD] * len(live))
    assert len(found) == COLUMNS
    assert found[-1] == (99_999, Phase.FORWARD)


@pytest.mark.parametrize("picture", [timeline_html, timeline_svg])
def test_pictures_load_nothing_and_show_names_safely(picture: Any) -> None:
    graph = network()
    graph.rename(next(iter(graph.nodes)).output, "<script>x</script>")
    text = picture(memory(graph), "a & b")
    assert "<script>x" not in text
    assert "&lt;script&gt;" in text
    assert "a &amp; b" in text
    if picture is timeline_html:
        check_page(text)
    else:
        assert "script" not in text.replace("&lt;script&gt;", "").replace("&lt;/script&gt;", "")
        assert "src=" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_program_of_a_hundred_thousand_steps() -> None:
    program = chain([1 + number % 97 for number in range(100_000)])
    assert find_liveness(program).peak == 97 + 96
    assert plan_blocks(program).total < 1000


def test_the_report_is_json() -> None:
    from graphir.report.memory import memory_json

    assert json.loads(json.dumps(memory_json(memory(network()))))["peak"] == 512


def test_a_graph_without_nodes() -> None:
    graph = Graph("empty")
    graph.set_outputs([graph.add_input("x", TensorType(DType.FLOAT32, (2,)))])
    assert inference_program(graph).steps == []
    assert memory(graph).peak == 0

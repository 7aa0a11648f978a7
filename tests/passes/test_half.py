"""float16 and bfloat16: which layers stay float32 and why, Casts only where the two meet, and the same numbers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import graphir
from graphir.decisions import DecisionKind
from graphir.errors import ArgumentError
from graphir.graph import Graph, Value
from graphir.magnitudes import measure
from graphir.ops import Operator, operator_table
from graphir.ops.activation import Relu, Softmax
from graphir.ops.control import If, Loop
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Cast, Floor, Mul, Sqrt, Sum, Where
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.normalization import BatchNormalization, LayerNormalization
from graphir.ops.recurrent import LSTM
from graphir.ops.reduction import ReduceMean
from graphir.ops.shape import Reshape, Transpose
from graphir.passes.half import HALF, HalfOptions, form_of, to_half
from graphir.passes.half.choice import LOOPS, WIDE_SLOTS, is_heavy, moves, reads
from graphir.passes.half.numbers import narrowed, why_lost
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

Array = NDArray[Any]
FLOAT32, FLOAT16 = DType.FLOAT32, DType.FLOAT16
CLOSE = {"float16": 4e-3, "bfloat16": 3e-2}
"""Four of their units, as in verification."""


def weights(*shape: int, scale: float = 0.3) -> Array:
    drawn: Array = np.asarray(np.random.default_rng(7).standard_normal(shape), np.float32)
    return drawn * np.float32(scale)


def graph_with(*shape: int) -> tuple[Graph, Value]:
    graph = Graph("net")
    return graph, graph.add_input("data", TensorType(FLOAT32, shape))


def network() -> Graph:
    """Convolution, batch normalization, a branch, a product, a softmax."""
    graph, data = graph_with(2, 3, 8, 8)
    made = graph.add(Conv(), data, graph.add_parameter("w", Tensor.of(weights(8, 3, 3, 3))), name="conv", output="conv")
    vectors = [graph.add_parameter(f"bn_{slot}", Tensor.of(np.abs(weights(8)) + 0.1)) for slot in range(4)]
    made = graph.add(BatchNormalization(), made, *vectors, name="bn", output="bn")
    made = graph.add(Add(), graph.add(Relu(), made, name="relu"), made, name="sum")
    flat = graph.add(Reshape(), made, graph.constant(np.array([2, -1])), name="flat")
    made = graph.add(MatMul(), flat, graph.add_parameter("fc_w", Tensor.of(weights(288, 5, scale=0.05))), name="fc")
    graph.set_outputs([graph.add(Softmax(axis=-1), made, name="scores", output="scores")])
    return graph


def masked() -> Graph:
    """Scores of which some are hidden by -1e9."""
    graph, data = graph_with(2, 6)
    made = graph.add(MatMul(), data, graph.add_parameter("w", Tensor.of(weights(6, 6))), name="scores")
    condition = graph.constant(np.arange(6) < 3)
    made = graph.add(Where(), condition, made, graph.constant(np.float32(-1e9), name="hidden"), name="mask")
    graph.set_outputs([graph.add(Softmax(axis=-1), made, name="soft")])
    return graph


def normalized() -> Graph:
    """A layer normalization written out: its small variance is divided by."""
    graph, data = graph_with(2, 6)
    made = graph.add(MatMul(), data, graph.add_parameter("w", Tensor.of(weights(6, 6))), name="fc")
    axes = graph.constant(np.array([1]))
    centred = graph.add(Add(), made, graph.add(ReduceMean(), made, axes, name="mean"), name="centred")
    square = graph.add(ReduceMean(), graph.add(Mul(), centred, centred, name="square"), axes, name="variance")
    root = graph.add(Sqrt(), graph.add(Add(), square, graph.constant(np.float32(1e-12)), name="plus"), name="root")
    graph.set_outputs([graph.add(Mul(), centred, root, name="out")])
    return graph


def recurrent() -> Graph:
    """An LSTM behind an embedding, and a layer normalization."""
    graph = Graph("net")
    data = graph.add_input("data", TensorType(DType.INT64, (5, 2)))
    table = graph.add_parameter("table", Tensor.of(weights(8, 6)))
    made = graph.add(Gather(), table, data, name="embedding")
    operands = [graph.add_parameter(name, Tensor.of(weights(*shape)))
                for name, shape in (("W", (1, 16, 6)), ("R", (1, 16, 4)), ("B", (1, 32)))]  # fmt: skip
    made = graph.add_node(LSTM(hidden_size=4), [made, *operands], name="lstm").outputs[0]
    ones = graph.add_parameter("gamma", Tensor.of(np.ones(4, np.float32)))
    made = graph.add_node(LayerNormalization(axis=-1), [made, ones], name="norm").outputs[0]
    graph.set_outputs([graph.add(Transpose(perm=(2, 0, 1, 3)), made, name="turned")])
    return graph


def branching() -> Graph:
    """An If whose branches use values and weights from around them, and a Loop that carries a product."""
    graph, data = graph_with(2, 64)
    shared = graph.add_parameter("w", Tensor.of(weights(64, 64, scale=0.125)))
    outer = graph.add(MatMul(), data, shared, name="outer")
    branches = []
    for name, op in (("then", Add()), ("else", Mul())):
        inner = Graph(name, parent=graph)
        made = inner.add(op, outer, inner.add(MatMul(), outer, shared, name=f"{name}_fc"), name=f"{name}_out")
        inner.set_outputs([made])
        branches.append(inner)
    condition = graph.constant(np.array(True))
    made = graph.add_node(If(), [condition], name="choice", subgraphs=branches).output
    body = Graph("body", parent=graph)
    body.add_input("turn", TensorType(DType.INT64, ()))
    go = body.add_input("go", TensorType(DType.BOOL, ()))
    carried = body.add_input("carried", TensorType(FLOAT32, (2, 64)))
    body.set_outputs([go, body.add(Relu(), body.add(MatMul(), carried, shared, name="step"), name="next")])
    loop = graph.add_node(Loop(), [graph.constant(np.array(3)), condition, made], name="loop", subgraphs=[body])
    graph.set_outputs([loop.outputs[0], outer])
    return graph


NETS: Mapping[str, Callable[[], Graph]] = {
    "network": network, "masked": masked, "normalized": normalized, "recurrent": recurrent, "branching": branching
}  # fmt: skip


def feeds(graph: Graph) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    return {
        value.name: rng.integers(0, 8, value.shape) if value.dtype is DType.INT64
        else np.asarray(rng.standard_normal(value.shape), np.float32)
        for value in graph.inputs
    }  # fmt: skip


def run(graph: Graph, arrays: Mapping[str, Array]) -> list[Array]:
    found = graphir.Session(graph, providers="cpu").run(arrays)
    return [np.asarray(array).astype(np.float32) for array in found.values()]


def kept(graph: Graph) -> dict[str, str]:
    return {made.node: made.text for made in graph.decisions if made.kind is DecisionKind.KEPT_FLOAT32}


def casts(graph: Graph) -> list[Any]:
    inner = [node for made in graph.nodes for one in made.subgraphs for node in casts(one)]
    return [node for node in graph.nodes if isinstance(node.op, Cast)] + inner


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", NETS)
def test_the_same_numbers_come_out(name: str, dtype: str) -> None:
    graph = NETS[name]()
    before = str(graph)
    arrays = feeds(graph)
    made = to_half(graph, dtype, measure(graph, arrays))
    made.check()
    assert str(graph) == before
    assert [(value.name, value.type) for value in (*made.inputs, *made.outputs)] == [
        (value.name, value.type) for value in (*graph.inputs, *graph.outputs)
    ]
    for found, expected in zip(run(made, arrays), run(graph, arrays), strict=True):
        assert np.abs(found - expected).max() <= CLOSE[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", NETS)
def test_no_cast_follows_a_cast_or_stands_twice(name: str, dtype: str) -> None:
    made = to_half(NETS[name](), dtype)
    found = casts(made)
    assert not [node.name for node in found if isinstance(getattr(node.inputs[0].producer, "op", None), Cast)]
    pairs = [(node.inputs[0], node.op.to) for node in found]
    assert len(set(pairs)) == len(pairs)
    assert not [node.name for node in found if node.inputs[0].dtype is node.op.to]


@pytest.mark.parametrize("dtype", HALF)
def test_weights_become_narrow(dtype: str) -> None:
    made = to_half(network(), dtype)
    held = {value.name: value.dtype for value in made.parameters}
    assert held["w"] is held["fc_w"] is DType(dtype)
    assert {held[f"bn_{slot}"] for slot in range(4)} == {FLOAT32}
    held_w = made["w"].tensor
    assert held_w is not None
    assert np.array_equal(held_w.numpy(), weights(8, 3, 3, 3).astype(DType(dtype).numpy()))


def test_a_network_of_float16_has_casts_at_its_ends_only() -> None:
    made = to_half(network(), "float16")
    assert [node.inputs[0].name for node in casts(made)] == ["data", "fc"]
    assert made["sum"].dtype is FLOAT16
    assert made["scores"].dtype is FLOAT32


def test_inputs_and_outputs_may_be_narrow() -> None:
    made = to_half(network(), HalfOptions("float16", io=True))
    assert [str(value.type) for value in (*made.inputs, *made.outputs)] == ["float16[2, 3, 8, 8]", "float16[2, 5]"]
    assert [value.name for value in made.outputs] == ["scores"]
    made.check()


def test_an_end_whose_numbers_do_not_fit_stays() -> None:
    made = to_half(network(), HalfOptions("float16", io=True), {"data": 1e6, "scores": 1.0})
    assert [str(value.dtype) for value in (*made.inputs, *made.outputs)] == ["float32", "float16"]
    assert "data stays float32: numbers up to 1e+06" in kept(made)["data"]


@pytest.mark.parametrize("op", [Mul(), Sum()])
def test_numbers_that_become_places_stay(op: Operator) -> None:
    graph, data = graph_with(2, 6)
    place = graph.add(Floor(), graph.add(op, data, graph.constant(np.float32(3)), name="scaled"), name="floor")
    whole = graph.add(Cast(DType.INT64), place, name="place")
    back = graph.add(Cast(FLOAT32), whole, name="back")
    made = graph.add(MatMul(), back, graph.add_parameter("w", Tensor.of(weights(6, 6))), name="fc")
    graph.set_outputs([made, whole])
    found = kept(to_half(graph, "float16", {"back": 3000.0}))
    assert {"scaled", "floor", "fc"} <= found.keys()
    assert "integers up to 3000, and float16 has all of them up to 2048 only" in found["fc"]
    assert "fc" not in kept(to_half(graph, "float16", {"back": 2000.0}))


@pytest.mark.parametrize(
    ("net", "node", "reason"),
    [
        (network, "scores", "exponentials"),
        (masked, "mask", "-1e+09, beyond 65504"),
        (normalized, "plus", "1e-12"),
        (normalized, "variance", "its sum grows"),
        (normalized, "root", "powers and quotients"),
        (recurrent, "norm", "root of a sum of squares"),
        (recurrent, "lstm", "its state is carried"),
    ],
)
def test_what_stays_says_why(net: Callable[[], Graph], node: str, reason: str) -> None:
    assert reason in kept(to_half(net(), "float16"))[node]


@pytest.mark.parametrize(
    ("array", "lost"),
    [
        ([70000.0, 1.0], "it holds 70000, beyond 65504"),
        ([-1e30], "it holds -1e+30"),
        ([65519.0], "beyond 65504"),
        ([1e-9], "numbers as small as 1e-09"),
        ([[0.01, 0.005], [1e-7, 1e-7]], "loses"),
        ([[1.0, 0.5], [1e-12, 1e-13]], ""),
        ([1e-5], "1e-05"),
        ([65504.0, -65504.0, 0.0, np.inf, -np.inf, np.nan], ""),
        ([1.0, 1e-9], ""),
        ([[1.0, 0.1], [0.0, 0.0]], ""),
        (np.zeros((0, 3)), ""),
        (0.1, ""),
    ],
)
def test_what_a_weight_loses(array: object, lost: str) -> None:
    found = why_lost(Tensor.of(np.asarray(array, np.float32)), form_of(FLOAT16))
    assert lost in found
    assert bool(found) is bool(lost)


@pytest.mark.parametrize(
    ("largest", "text"),
    [(20000.0, "numbers up to 2e+04 were measured"), (1e-6, "no number above 1e-06"), (16000.0, ""), (0.0, "")],
)
def test_measured_ranges_decide(largest: float, text: str) -> None:
    found = kept(to_half(network(), "float16", {"conv": largest}))
    assert text in found.get("conv", "")
    assert ("conv" in found) is ("bn" in found) is bool(text)


def test_ranges_are_measured() -> None:
    graph = network()
    arrays = feeds(graph)
    found = measure(graph, arrays)
    expected = graphir.Session(graph, providers="cpu").run(arrays)["scores"]
    assert found["scores"] == pytest.approx(float(expected.max()))
    assert found["data"] == float(np.abs(arrays["data"]).max())
    assert {"conv", "bn", "sum", "fc"} <= found.keys()


def test_a_weight_beyond_the_range_keeps_its_layer() -> None:
    graph = network()
    large = weights(8, 3, 3, 3)
    large[0, 0, 0, 0] = 1e6
    graph.set_tensor(graph["w"], Tensor.of(large))
    made = to_half(graph, "float16")
    assert "w: it holds 1e+06" in kept(made)["conv"]
    assert made["w"].dtype is FLOAT32
    assert made["fc_w"].dtype is FLOAT16


def test_a_weight_that_two_layers_share_is_held_once() -> None:
    graph, data = graph_with(4, 64)
    shared = graph.add_parameter("w", Tensor.of(weights(64, 64)))
    first = graph.add(MatMul(), data, shared, name="first")
    second = graph.add(MatMul(), first, shared, name="second")
    third = graph.add(Softmax(axis=-1), graph.add(Add(), shared, second.graph.constant(np.float32(1)), name="wide"))
    graph.set_outputs([second, third])
    made = to_half(graph, HalfOptions("float16", keep=["wide"]))
    assert [value.name for value in made.parameters if value.rank] == ["w"]
    assert made["w"].dtype is FLOAT16
    assert sum(node.inputs[0] is made["w"] for node in casts(made)) == 1


@pytest.mark.parametrize(("glob", "found"), [("conv", ["conv"]), ("?c", ["fc"]), ("*", ["conv", "bn", "sum", "fc"])])
def test_layers_stay_by_name(glob: str, found: list[str]) -> None:
    said = kept(to_half(network(), HalfOptions("float16", keep=[glob])))
    assert set(found) <= {node for node, text in said.items() if f"asked for by '{glob}'" in text}


def test_a_name_that_no_layer_has_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="no layer that takes float32 is called nothing"):
        to_half(network(), HalfOptions("float16", keep=["nothing", "fc"]))


def test_another_dtype_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="float16 or bfloat16"):
        to_half(network(), "float64")


def test_float64_and_integers_stay() -> None:
    graph = Graph("net")
    data = graph.add_input("data", TensorType(DType.FLOAT64, (2, 2)))
    graph.set_outputs([graph.add(MatMul(), data, graph.add_parameter("w", Tensor.of(np.eye(2))), name="out")])
    made = to_half(graph, "float16")
    assert not casts(made)
    assert made["out"].dtype is DType.FLOAT64


def test_without_onnxruntimes_kernels_weights_alone_become_narrow() -> None:
    made = to_half(network(), "bfloat16")
    assert "onnxruntime has no bfloat16 Conv on the CPU" in kept(made)["conv"]
    assert {str(node.inputs[0].dtype) for node in casts(made)} == {"bfloat16"}


def test_an_embedding_is_looked_up_narrow() -> None:
    made = to_half(recurrent(), "bfloat16")
    assert made["embedding"].dtype is DType.BFLOAT16


@pytest.mark.parametrize("table", [LOOPS, WIDE_SLOTS])
def test_every_operator_of_the_tables_exists(table: Any) -> None:
    assert set(table) <= set(operator_table())


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Conv", "heavy"), ("BatchNormalization", ""), ("Reshape", "moves"), ("Gather", "moves"), ("Shape", "reads"),
        ("IsNaN", "reads"), ("Add", ""), ("GlobalAveragePool", ""), ("Softmax", "exponentials leave"),
        ("Sinh", "exponentials leave"), ("ReduceMean", "its sum grows"), ("ReduceMax", ""), ("TopK", "another order"),
        ("LayerNormalization", "root of a sum"), ("Inverse", "root of a sum"), ("SequenceErase", "lists keep"),
        ("Resize", "coordinates"), ("RandomNormal", "that it draws"), ("ConvInteger", "quantization"),
        ("Sqrt", "powers and quotients"), ("HannWindow", "angles"), ("Foreign", "not known here"),
    ],
)  # fmt: skip
def test_traits_say_which_dtype_an_operator_has(name: str, what: str) -> None:
    op = operator_table()[name]
    asked: dict[str, Any] = {"heavy": is_heavy, "moves": moves, "reads": reads}
    assert [word for word, holds in asked.items() if holds(op)] == [word for word in asked if word == what]
    why = op.stays_wide or ""
    assert what in why if what and what not in asked else not why


def test_weights_are_converted_one_at_a_time(tmp_path: Path) -> None:
    side, count = 1024, 8
    graph, data = graph_with(2, side)
    made, reads = data, []

    def drawn(number: int) -> Array:
        reads.append(number)
        return np.full((side, side), 0.001 * (number + 1), np.float32)

    for number in range(count):
        tensor = Tensor.computed(FLOAT32, (side, side), lambda number=number: drawn(number))  # type: ignore[misc]
        made = graph.add(MatMul(), made, graph.add_parameter(f"w{number}", tensor), name=f"fc{number}")
    graph.set_outputs([made])
    tracemalloc.start()
    narrow = to_half(graph, "float16")
    graphir.save(narrow, tmp_path / "made.onnx", weights="external")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sorted(reads) == sorted([*range(count)] * 2)
    assert peak < 8 * side * side * 4
    assert (tmp_path / "made.onnx.data").stat().st_size == count * side * side * 2


def test_a_narrow_tensor_rounds_to_the_nearest() -> None:
    large = np.linspace(0, 1, 5000, dtype=np.float32)
    assert np.array_equal(narrowed(Tensor.of(large), FLOAT16).numpy(), large.astype(np.float16))


@pytest.mark.parametrize("suffix", [".onnx", "-symbol.json", ".graphir.json"])
@pytest.mark.parametrize("dtype", HALF)
def test_every_target_is_verified(tmp_path: Path, suffix: str, dtype: str) -> None:
    graphir.save(network(), tmp_path / "source.onnx")
    report = graphir.convert(tmp_path / "source.onnx", tmp_path / f"made{suffix}", dtype=dtype, verify=True)
    assert report.verification is not None
    assert report.verification.ok, report.verification
    assert report.grouped_decisions()["kept float32"]
    found = graphir.load(tmp_path / f"made{suffix}")
    held = {str(value.dtype) for value in found.parameters if value.tensor is not None and value.tensor.size > 64}
    in_mxnet = suffix == "-symbol.json" and dtype == "bfloat16"  # which it holds as float32
    assert held == {"float32" if in_mxnet else dtype}


def test_the_written_model_is_valid(tmp_path: Path) -> None:
    for name, made in NETS.items():
        for dtype in HALF:
            path = tmp_path / f"{name}-{dtype}.onnx"
            graphir.save(to_half(made(), dtype), path)
            onnx.checker.check_model(onnx.load(path), full_check=True)


def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphir.save(network(), tmp_path / "source.onnx")

    def wrong(tensor: Tensor, dtype: DType) -> Tensor:
        array = tensor.numpy().astype(dtype.numpy())
        return Tensor(dtype, tensor.shape, array=(array * 1.1).astype(dtype.numpy()))

    monkeypatch.setattr("graphir.passes.half.rebuild.narrowed", wrong)
    report = graphir.convert(tmp_path / "source.onnx", tmp_path / "made.onnx", dtype="float16", verify=True)
    assert report.verification is not None
    assert not report.verification.ok


def test_an_overflow_is_called_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that nobody measured."""
    graph, data = graph_with(2, 6)
    large = np.clip(weights(6, 6, scale=20000.0), -60000, 60000).astype(np.float32)
    made = graph.add(MatMul(), data, graph.add_parameter("w", Tensor.of(large)), name="fc")
    graph.set_outputs([graph.add(Mul(), made, graph.constant(np.float32(16)), name="out")])
    graphir.save(graph, tmp_path / "source.onnx")
    report = graphir.convert(tmp_path / "source.onnx", tmp_path / "kept.onnx", dtype="float16", verify=True)
    assert report.ok
    monkeypatch.setattr("graphir.magnitudes.measure", lambda *given: {})
    report = graphir.convert(tmp_path / "source.onnx", tmp_path / "made.onnx", dtype="float16", verify=True)
    assert report.verification is not None
    assert any("overflow to infinity" in found.note for found in report.verification.outputs)
    assert not report.ok


def test_a_model_that_cannot_be_run_is_converted_unmeasured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise graphir.VerificationError("no such sizes")

    monkeypatch.setattr("graphir.magnitudes.measure", refuse)
    graphir.save(network(), tmp_path / "source.onnx")
    report = graphir.convert(tmp_path / "source.onnx", tmp_path / "made.onnx", dtype="float16")
    said = [made.text for made in report.grouped_decisions()["half precision"]]
    assert "no activation was measured" in said[0]
    assert "no such sizes" in said[1]


@pytest.mark.parametrize(
    "stated", [{"io_dtype": "float16"}, {"keep_float32": ["fc"]}, {"dtype": "bfloat16", "half": HalfOptions("float16")}]
)
def test_options_that_do_not_go_together(tmp_path: Path, stated: dict[str, Any]) -> None:
    graphir.save(network(), tmp_path / "source.onnx")
    with pytest.raises(ArgumentError):
        graphir.convert(tmp_path / "source.onnx", tmp_path / "made.onnx", **stated)
    assert not (tmp_path / "made.onnx").exists()

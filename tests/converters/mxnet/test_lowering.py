"""ONNX that MXNet cannot say as it stands: lowered, it computes the same in live MXNet; what is left over is named."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx.onnx_ml_pb2 import ModelProto

from graphir.converters.mxnet import save, to_symbol
from graphir.converters.mxnet.exporting import writer
from graphir.converters.mxnet.exporting.context import ExportTable
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.converters.mxnet.exporting.state import Export
from graphir.converters.onnx import from_model
from graphir.errors import ProviderError, UnsupportedOpError
from graphir.graph import Graph, Node
from graphir.ops.activation import Celu, HardSwish, LeakyRelu, Mish, Relu, Selu, Swish
from graphir.ops.attention import Attention, RotaryEmbedding
from graphir.ops.base import Operator
from graphir.ops.creation import Range
from graphir.ops.image import CenterCropPad
from graphir.ops.losses import NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
from graphir.ops.normalization import GroupNormalization, LayerNormalization, RMSNormalization
from graphir.ops.random import Bernoulli, RandomNormalLike, RandomUniformLike
from graphir.ops.resize import AffineGrid
from graphir.ops.signal import HannWindow
from graphir.passes.clone import clone
from graphir.runtime import evaluate
from graphir.serial.equal import first_difference
from graphir.types import DType, TensorType
from tests.converters.mxnet.exporting import Array, difference, mxnet_outputs, onnxruntime_outputs, read_again
from tests.equivalence.live import Live
from tests.passes.written import feed, graph_of, model_of
from tests.typed import untyped

SUM = """body (int64 i, bool c, float[2] a) => (bool d, float[2] b, float[2] r)
  { d = Identity(c) b = Add(a, x) r = Mul(b, b) }"""
SEARCH = """body (int64 i, bool c, float[2] a) => (bool d, float[2] b)
  { b = Add(a, x) s = ReduceSum<keepdims = 0>(b) d = Less(s, limit) }"""
ROWS = {
    "loop": f"g (float[2] x) => (float[2] s, float[3,2] rows) <int64 n = {{3}}> "
    f"{{ s, rows = Loop (n, , x) <body = {SUM}> }}",
    "loop_of_computed_length": "g (float[3,2] z, float[2] x) => (float[2] s, float[3,2] rows) "
    "{ n0 = Shape<start = 0, end = 1>(z) q = Constant<value = int64[1] {0}>() n = Squeeze(n0, q) "
    f"s, rows = Loop (n, , x) <body = {SUM}> }}",
    "loop_ended_by_its_condition": "g (float[2] x, float[1] most) => (float[2] s) <int64 n = {4}, bool k = {1}> "
    f"{{ limit = ReduceSum<keepdims = 0>(most) s = Loop (n, k, x) <body = {SEARCH}> }}",
    "scan": """g (float[2] s, float[3,2] xs) => (float[2] last, float[3,2] all) { last, all = Scan <num_scan_inputs = 1,
        body = body (float[2] a, float[2] x) => (float[2] b, float[2] r) { b = Add(a, x) r = Neg(b) }> (s, xs) }""",
    "branch_that_is_known": """g (float[2,3] x) => (float[2,3] y) { n = Size(x) k = Constant<value_int = 7>()
        c = Less(n, k) y = If (c) <then_branch = a () => (float[2,3] t) { t = Exp(x) },
        else_branch = b () => (float[2,3] e) { e = Neg(x) }> }""",
    "branch_that_is_not": """g (float[2,3] x) => (float[2,3] y) { m = ReduceMax<keepdims = 0>(x)
        k = Constant<value_float = 0.5>() c = Less(m, k) y = If (c)
        <then_branch = a () => (float[2,3] t) { t = Exp(x) }, else_branch = b () => (float[2,3] e) { e = Neg(x) }> }""",
    "sequence": """g (float[5,2] x) => (float[2,2] z, float[5,2] w) <int64 k = {2}, int64 p = {1}>
        { s = SplitToSequence<axis = 0>(x, k) z = SequenceAt(s, p) n = SequenceInsert(s, z) t = SequenceErase(n)
          u = SequenceMap <body = b (float[N,2] a) => (float[N,2] r) { h = Relu(a) r = Exp(h) }> (t)
          w = ConcatFromSequence<axis = 0>(u) }""",
    "optional": "g (float[2] x) => (float[2] z) { o = Optional(x) g = OptionalGetElement(o) z = Exp(g) }",
    "made_sequence": """g (float[2,3] x, float[2,3] z) => (float[2,3] y) <int64 p = {1}, int64 k = {0}>
        { e = SequenceEmpty() o = SequenceInsert(e, x) f = SequenceAt(o, k) s = SequenceConstruct(f, z)
          n = SequenceLength(s) c = Cast<to = 1>(n) a = SequenceAt(s, p) y = Mul(a, c) }""",
    "what_an_optional_has": """g (float[2] x) => (float[2] z)
        { o = Optional(x) h = OptionalHasElement(o) f = Cast<to = 1>(h) z = Mul(x, f) }""",
    "cast_like": "g (float[2,3] x, int64[1] k) => (int64[2,3] y) { e = Mul(x, x) y = CastLike(e, k) }",
    "constants": """g (float[2,6] x) => (float[2,6] y) <float[6] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, int32 n = {6}>
        { h = HannWindow(n) e = Exp(w) f = Mul(h, e) y = Add(x, f) }""",
    "shape_arithmetic": """g (float[2,3,4] x) => (float[6,4] y) <int64[1] m = {-1}> { s = Shape<start = 2>(x)
        t = Concat<axis = 0>(m, s) y = Reshape(x, t) }""",
    "losses": """g (float[3,5,2] x, int64[3,2] t, float[5] w) => (float[3,2] y, float[3,5,2] p)
        { y, p = SoftmaxCrossEntropyLoss<reduction = "none", ignore_index = 1>(x, t, w) }""",
    "attention": """g (float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,8] v) => (float[2,3,4,8] y)
        { s = Mul(q, q) y = Attention<is_causal = 1, softcap = 2.0>(s, k, v) }""",
    "normalizations": """g (float[2,4,6] x, float[6] s, float[6] b, float[4] t) => (float[2,4,6] y)
        { h = RMSNormalization(x, s) l = LayerNormalization(h, s, b)
          y = GroupNormalization<num_groups = 2>(l, t, t) }""",
    "rotary": """g (float[2,3,4,8] x, float[5,4] c, float[5,4] s, int64[2,4] p) => (float[2,3,4,8] y)
        { h = RotaryEmbedding(x, c, s, p) y = Neg(h) }""",
    "activations": """g (float[2,3] x) => (float[2,3] y) { a = Mish(x) b = Celu<alpha = 0.5>(a) c = HardSwish(b)
        d = Selu(c) e = LeakyRelu<alpha = 0.3>(d) y = Neg(e) }""",
    "range": """g (float[7,2] x) => (float[7,2] y) <float a = {0.5}, float b = {4.0}, float d = {0.5}>
        { r = Range(a, b, d) k = Constant<value = int64[1] {1}>() s = Unsqueeze(r, k) y = Mul(x, s) }""",
    "affine_grid": "g (float[2,2,3] t) => (float[2,2,3,2] y) <int64[4] n = {2, 1, 2, 3}> { y = AffineGrid(t, n) }",
    "center_crop_pad": "g (float[3,5] x) => (float[3,7] y) <int64[1] n = {7}> { y = CenterCropPad<axes = [1]>(x, n) }",
}
DEFINED: dict[str, tuple[type[Operator], ...]] = {
    "constants": (HannWindow,),
    "losses": (SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss),
    "attention": (Attention,),
    "normalizations": (RMSNormalization, LayerNormalization, GroupNormalization),
    "rotary": (RotaryEmbedding,),
    "affine_grid": (AffineGrid,),
    "center_crop_pad": (CenterCropPad,),
    "activations": (Mish, Celu, HardSwish, Selu, Swish, LeakyRelu),
    "range": (Range,),
}
OPSETS = {"attention": 23, "normalizations": 23, "rotary": 23}
LEFT_OVER = [
    # text, operator, nodes, reason
    ("g (float[2] x, int64 n) => (float[2] s, float[N,2] rows) { s, rows = Loop (n, , x) <body = " + SUM + "> }",
     "Loop", ("s",), r"the sizes of rows; it cannot be taken apart: the number of iterations \(n\)"),
    ("g (float[2] x, bool[1] k0) => (float[2] s, float[N,2] rows) <int64 n = {30000}> "
     "{ k = Squeeze(k0) s, rows = Loop (n, k, x) <body = " + SUM + "> }", "Loop", ("s",),
     "the sizes of rows; it cannot be taken apart: 30000 iterations of 3 nodes are 90000 nodes unrolled, more than "
     "the limit of 20000"),
    ("g (float[2] x, bool[1] c) => (float[N] y) { y = If (c) <then_branch = a () => (float[2] t) { t = Exp(x) }, "
     "else_branch = b () => (float[4] e) { e = Concat<axis = 0>(x, x) }> }",
     "If", ("y",), r"its branches give float32\[2\] and float32\[4\] for y"),
    ("g (seq(float[2]) s) => (float[2] z) <int64 p = {1}> { a = SequenceAt(s, p) z = Neg(a) }",
     "SequenceAt", ("a",), "what it holds is known at run time only"),
]  # fmt: skip


Lacking = Callable[..., None]


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> Lacking:
    """Makes the exporter forget operators, so that a test does not depend on what it happens to lack."""

    def forget(*classes: type[Operator]) -> None:
        table = {op: function for op, function in export_table().items() if op not in classes}
        monkeypatch.setattr(writer, "export_table", lambda: dict(table))

    return forget


def fed(model: ModelProto) -> dict[str, Array]:
    """Fixed numbers for the inputs, small enough to be indices."""
    kinds = {1: np.float32, 7: np.int64, 9: np.bool_}
    given = {}
    for info in model.graph.input:
        shape = tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim)
        given[info.name] = feed(shape, np.dtype(kinds[info.type.tensor_type.elem_type]))
    return given


@pytest.mark.live
@pytest.mark.parametrize("name", [name for name in ROWS if name not in DEFINED])
def test_lowered_it_computes_the_same(name: str, live: Live) -> None:
    check_lowered(name, live)


@pytest.mark.live
@pytest.mark.parametrize("name", DEFINED)
def test_by_its_definition_it_computes_the_same(name: str, live: Live, lacking: Lacking) -> None:
    lacking(*DEFINED[name])
    check_lowered(name, live)


def check_lowered(name: str, live: Live) -> None:
    model = model_of(ROWS[name])
    model.opset_import[0].version = OPSETS.get(name, 21)
    feeds = fed(model)
    graph = from_model(model)
    kept = clone(graph)
    text, params = to_symbol(graph)
    kept.decisions = graph.decisions
    assert first_difference(kept, graph) is None
    arrays = {key.partition(":")[2]: array for key, array in params.items()}
    expected = onnxruntime_outputs(model, feeds)
    assert difference(mxnet_outputs(live, text, arrays, feeds), expected) == ""


@pytest.mark.parametrize("name", ["loop", "scan", "sequence", "constants", "losses", "normalizations"])
def test_what_is_written_reads_back_the_same(name: str) -> None:
    model = model_of(ROWS[name])
    model.opset_import[0].version = OPSETS.get(name, 21)
    feeds = fed(model)
    text, params = to_symbol(from_model(model))
    arrays = {key.partition(":")[2]: array for key, array in params.items()}
    assert difference(read_again(text, arrays, feeds), onnxruntime_outputs(model, feeds)) == ""


@pytest.mark.parametrize(("text", "operator", "nodes", "reason"), LEFT_OVER)
def test_what_is_left_over_has_the_names_of_the_original(
    text: str, operator: str, nodes: tuple[str, ...], reason: str
) -> None:
    graph = graph_of(text)
    kept = clone(graph)
    with pytest.raises(UnsupportedOpError, match=reason) as caught:
        to_symbol(graph)
    assert [(gap.operator, gap.nodes) for gap in caught.value.gaps] == [(operator, nodes)]
    assert first_difference(kept, graph) is None
    graph.check()


def test_all_that_is_left_over_is_listed_at_once(lacking: Lacking) -> None:
    lacking(Bernoulli, RandomUniformLike, RandomNormalLike, Mish)
    graph = graph_of("""g (float[2,3] x) => (float[2,3] y, float[2,3] z) { a = Bernoulli(x) b = Mish(a)
        c = Bernoulli<seed = 1.0>(b) y = Neg(c) z = RandomNormalLike(x) }""")
    with pytest.raises(UnsupportedOpError) as caught:
        to_symbol(graph)
    found = {gap.operator: (gap.nodes, gap.reason) for gap in caught.value.gaps}
    nothing = "MXNet has no such operator and no composition is known"
    assert found == {
        "Bernoulli": (("a", "c"), f"it is made of RandomUniformLike: {nothing}"),
        "RandomNormalLike": (("z",), nothing),
    }


def test_decisions_reach_the_graph_once(lacking: Lacking) -> None:
    lacking(HannWindow)
    graph = graph_of(ROWS["constants"])
    to_symbol(graph)
    to_symbol(graph)
    assert [decision.kind for decision in graph.decisions] == ["constants computed"]


def test_rounding_to_a_dtype_that_mxnet_lacks_is_told() -> None:
    graph = graph_of("g (bfloat16[2,3] x) => (bfloat16[2,3] y) { y = HardSwish(x) }")
    to_symbol(graph)
    texts = [decision.text for decision in graph.decisions if decision.node == "y"]
    assert "computed in float32 and rounded to bfloat16, which MXNet lacks" in texts


def test_a_failure_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOpError):
        save(graph_of(LEFT_OVER[0][0]), tmp_path / "x-symbol.json")
    assert list(tmp_path.iterdir()) == []


def test_without_onnxruntime_the_reason_says_so(monkeypatch: pytest.MonkeyPatch, lacking: Lacking) -> None:
    lacking(Bernoulli, RandomUniformLike)

    def missing() -> None:
        raise ProviderError("onnxruntime is not installed; pip install it")

    monkeypatch.setattr(evaluate, "import_onnxruntime", missing)
    with pytest.raises(UnsupportedOpError, match="constants could not be computed: onnxruntime is not installed"):
        to_symbol(graph_of("""g (float[2] x) => (float[2] y) <float[2] w = {0.5, 3.5}>
            { b = Exp(w) t = Bernoulli(x) y = Add(b, t) }"""))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators of the nodes that are tried, each time that they are."""
    found: list[str] = []
    write_node = untyped(writer).write_node

    def counted(export: Export, node: Node, table: ExportTable) -> None:
        found.append(node.op.name)
        write_node(export, node, table)

    monkeypatch.setattr(writer, "write_node", counted)
    return found


@pytest.mark.parametrize("place", [0, 1000, 1999])
def test_around_one_refused_node_nothing_is_tried_again(place: int, calls: list[str], lacking: Lacking) -> None:
    lacking(Mish)
    graph = Graph("deep")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    for number in range(2000):
        value = graph.add(Mish() if number == place else Relu(), value)
    graph.set_outputs([value])
    text, _ = to_symbol(graph)
    assert text.count('"relu"') == 1999
    # the refused node twice, before and after the graph is simplified, and the one that asked for it each time
    assert Counter(calls)["Relu"] <= 1999 + 2
    assert len(calls) <= 2000 + 3 + 3


def test_what_is_left_over_is_not_tried_for_ever(calls: list[str], lacking: Lacking) -> None:
    lacking(Bernoulli, RandomUniformLike)
    graph = Graph("deep")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    for number in range(300):
        value = graph.add(Relu() if number % 3 else Bernoulli(), value, name=f"node{number}")
    graph.set_outputs([value])
    with pytest.raises(UnsupportedOpError) as caught:
        to_symbol(graph)
    assert sum(len(gap.nodes) for gap in caught.value.gaps) == 100
    assert len(calls) <= 6 * 300


def test_a_deep_network_is_written_once(calls: list[str], lacking: Lacking) -> None:
    lacking(Mish)
    graph = Graph("deep")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    for _ in range(300):
        value = graph.add(Mish(), graph.add(Relu(), value))
    graph.set_outputs([value])
    text, _ = to_symbol(graph)
    assert text.count('"tanh"') == 300
    assert Counter(calls)["Relu"] <= 2 * 300
    assert len(calls) <= 300 * 2 + 300 * (1 + 3)


def test_a_plain_network_needs_neither_onnx_nor_onnxruntime() -> None:
    program = """
import sys
from graphir.graph import Graph, Node
from graphir.ops.activation import Relu
from graphir.types import DType, TensorType
from graphir.converters.mxnet import to_symbol
graph = Graph("plain")
graph.set_outputs([graph.add(Relu(), graph.add_input("x", TensorType(DType.FLOAT32, (2, 3))))])
to_symbol(graph)
print(sorted({"onnx", "onnxruntime"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"

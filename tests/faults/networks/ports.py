"""What ports of today's networks are full of: indices that are computed, masks, heat maps, lengths, bodies of loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.faults.builder import Array, Builder, Feeds, Generator, Network, normal

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
CONTRIB = "com.microsoft"


def indices(seed: int) -> onnx.ModelProto:
    """Whole numbers that are divided, taken modulo and looked up; elements gathered and scattered in square tables."""
    net = Builder("indices", seed)
    codes, words = net.input("codes", "N", 6, kind=INT64), net.input("words", "N", 6, kind=INT64)
    x = net.input("x", "N", 6, 6)
    bucket = net.op("Div", codes, net.const("three", 3), name="bucket")
    bucket = net.op("Clip", bucket, net.const("lowest", -4), net.const("highest", 3), name="bucket_clip")
    bucket = net.op("Add", bucket, net.const("four", 4), name="bucket_row")
    rest = net.op("Mod", codes, net.const("five", 5), name="rest")
    total = net.op(
        "Add", net.op("Gather", net.normal("bucket_table", 8, 6, scale=1.0), bucket, name="bucket_embed"),
        net.op("Gather", net.normal("rest_table", 5, 6, scale=1.0), rest, name="rest_embed"), name="both",
    )  # fmt: skip
    total = net.op(
        "Add", total, net.op("Gather", net.normal("word_table", 9, 6, scale=1.0), words, name="word_embed"), name="all"
    )
    mixed = net.op("Einsum", total, x, name="einsum0", equation="bij,bjk->bik")
    lower = net.op("Trilu", mixed, net.const("diagonal", 0), name="trilu0", upper=0)
    running = net.op("CumSum", lower, net.const("axis1", 1), name="cumsum0")
    places = net.op("ArgMax", x, name="argmax0", axis=2, keepdims=1)
    chosen = net.op("GatherND", running, places, name="gathernd0", batch_dims=2)
    picked = net.op("GatherElements", running, net.op("ArgMax", x, name="argmax1", axis=1, keepdims=1),
                    name="elements0", axis=1)  # fmt: skip
    hot = net.op("OneHot", rest, net.const("depth", 6), net.const("off_on", [0.0, 1.0]), name="onehot0", axis=-1)
    spread = net.op("ScatterElements", chosen, rest, net.op("ReduceMean", x, name="means", axes=[2], keepdims=0),
                    name="scatter0", axis=1, reduction="add")  # fmt: skip
    by_row = [net.op("Transpose", value, name=f"{name}_by_row", perm=[1, 0, 2])
              for name, value in (("hot", hot), ("running", running))]  # fmt: skip
    taken = net.op("Gather", by_row[1], net.const("taken_rows", [0, 2, 5]), name="taken", axis=0)
    rows = net.op("ScatterND", by_row[0], net.const("given_rows", [[1], [3], [4]]), taken, name="scatternd0")
    rows = net.op("Transpose", rows, name="by_sample", perm=[1, 0, 2])
    y = net.op("Concat", net.op("Unsqueeze", spread, net.const("one", [1]), name="row"), picked, rows, name="joined",
               axis=1)  # fmt: skip
    net.output(net.op("Tanh", net.op("Mul", y, net.const("calm", 0.1), name="calm0"), name="tanh0"), "N", 8, 6)
    return net.build()


def words(seed: int) -> onnx.ModelProto:
    """Words that fill up sentences, codes of three fields in one table, distances that become rows."""
    net = Builder("words", seed)
    ids, codes = net.input("ids", "N", 6, kind=INT64), net.input("codes", "N", 3, kind=INT64)
    far = net.input("distances", "N", 6, kind=INT64)
    filled = net.op("Cast", net.op("Equal", ids, net.const("filler", 3), name="is_filler"), name="filled", to=FLOAT)
    kept = net.op("Sub", net.const("one", 1.0), filled, name="kept")
    x = net.op("Gather", net.normal("word_table", 400, 6, scale=1.0), ids, name="word_embed")
    x = net.op("Mul", x, net.op("Unsqueeze", kept, net.const("last", [2]), name="column"), name="masked")
    rows = net.op("Add", far, net.const("sixty", 60), name="distance_row")
    x = net.op("Add", x, net.op("Gather", net.normal("distance_table", 121, 6, scale=1.0), rows, name="distance_embed"),
               name="placed")  # fmt: skip
    rows = net.op("Add", codes, net.const("first_rows", [0, 40, 90]), name="field_row")
    fields = net.op("Gather", net.normal("field_table", 150, 6, scale=1.0), rows, name="field_embed")
    x = net.op("Add", x, net.op("ReduceMean", fields, name="field_mean", axes=[1]), name="described")
    net.output(net.op("Tanh", net.linear(x, 6, 5), name="tanh0"), "N", 6, 5)
    return net.build()


def heatmap(seed: int) -> onnx.ModelProto:
    """Local maxima of a heat map, as CenterNet takes them; two resizes of one map; windows at odd sizes."""
    net = Builder("heatmap", seed, opset=18)
    image = net.input("image", "N", 3, 15, 17)
    x = net.op("Relu", net.conv(image, 3, 8, 3, pads=[1, 0, 0, 1], auto_pad="NOTSET"), name="relu0")
    x = net.op("AveragePool", x, name="avgpool0", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1,
               count_include_pad=1)  # fmt: skip
    deep = net.conv(net.op("MaxPool", x, name="maxpool0", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), 8, 8, 3,
                    pads=[1, 1, 1, 1])  # fmt: skip
    sizes = net.op("Shape", x, name="sizes")
    smooth = net.op("Resize", deep, "", "", sizes, name="resize_smooth", mode="linear",
                    coordinate_transformation_mode="align_corners")  # fmt: skip
    rough = net.op("Resize", deep, "", "", sizes, name="resize_rough", mode="nearest",
                   coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    cubic = net.op("Resize", deep, "", "", sizes, name="resize_cubic", mode="cubic", cubic_coeff_a=-0.5,
                   coordinate_transformation_mode="half_pixel")  # fmt: skip
    x = net.op("Relu", net.op("Add", x, net.op("Sub", smooth, rough, name="edges"), name="sum0"), name="relu1")
    x = net.op("Add", x, cubic, name="sum1")
    heat = net.op("Sigmoid", net.conv(x, 8, 2, 1, scale=0.2), name="heat")
    peak = net.op("MaxPool", heat, name="peak", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    kept = net.op("Cast", net.op("Equal", heat, peak, name="is_peak"), name="peak_mask", to=FLOAT)
    scores = net.op("Reshape", net.op("Mul", heat, kept, name="peaks"), net.const("rows", [0, -1]), name="flat")
    values = net.op("TopK", scores, net.const("k", [5]), name="topk0", results=2, axis=1)
    net.output(values, "N", 5)
    net.output("topk0_out1", "N", 5, kind=INT64)
    return net.build()


def rms_norm(net: Builder, x: str, name: str, width: int) -> str:
    """x / sqrt(mean(x^2) + eps) * gamma (Zhang and Sennrich 2019)."""
    square = net.op("ReduceMean", net.op("Pow", x, net.const(f"{name}_two", 2.0), name=f"{name}_pow"), axes=[-1],
                    name=f"{name}_mean")  # fmt: skip
    root = net.op("Sqrt", net.op("Add", square, net.const(f"{name}_eps", 1e-3), name=f"{name}_shift"),
                  name=f"{name}_root")  # fmt: skip
    scaled = net.op("Div", x, root, name=f"{name}_div")
    return net.op("Mul", scaled, net.positive(f"{name}_gamma", width), name=f"{name}_mul")


def decoder(seed: int) -> onnx.ModelProto:
    """A decoder block of today: RMSNorm, rotary places, shared keys, a Trilu mask, a gated unit, bounded logits."""
    net = Builder("decoder", seed)
    x = net.input("frames", "N", 6, 8)
    inner = rms_norm(net, x, "norm0", 8)
    angles = np.arange(6)[:, None] * (100.0 ** -(np.arange(2) / 2))[None]
    cos, sin = (net.const(name, np.tile(turn(angles), 2).astype(np.float32))
                for name, turn in (("cos", np.cos), ("sin", np.sin)))  # fmt: skip
    parts = {}
    for part, heads in (("query", 2), ("key", 1), ("value", 1)):
        rows = net.op("Reshape", net.linear(inner, 8, 4 * heads), net.const(f"{part}_split", [0, 0, heads, 4]),
                      name=f"{part}_rows")  # fmt: skip
        parts[part] = net.op("Transpose", rows, name=f"{part}_heads", perm=[0, 2, 1, 3])
    for part in ("query", "key"):
        net.op("Split", parts[part], name=f"{part}_halves", results=2, axis=-1)
        turned = net.op("Concat", net.op("Neg", f"{part}_halves_out1", name=f"{part}_neg"), f"{part}_halves_out0",
                        name=f"{part}_turned", axis=-1)  # fmt: skip
        parts[part] = net.op("Add", net.op("Mul", parts[part], cos, name=f"{part}_cos"),
                             net.op("Mul", turned, sin, name=f"{part}_sin"), name=f"{part}_rotary")  # fmt: skip
    scores = net.op("Einsum", parts["query"], parts["key"], name="scores", equation="bhid,bxjd->bhij")
    scores = net.op("Mul", scores, net.const("scale", 0.5), name="scores_scaled")
    hidden = net.op("Trilu", net.const("hidden", np.full((6, 6), -1e4)), net.const("above", 1), name="causal", upper=1)
    weights = net.op("Softmax", net.op("Add", scores, hidden, name="scores_masked"), name="softmax0", axis=-1)
    mixed = net.op("MatMul", weights, parts["value"], name="mixed")
    mixed = net.op("Reshape", net.op("Transpose", mixed, name="back", perm=[0, 2, 1, 3]), net.const("join", [0, 0, 8]),
                   name="joined")  # fmt: skip
    x = net.op("Add", x, net.linear(mixed, 8, 8), name="residual0")
    inner = rms_norm(net, x, "norm1", 8)
    gate = net.linear(inner, 8, 12)
    gate = net.op("Mul", gate, net.op("Sigmoid", gate, name="gate_sigmoid"), name="gate")
    x = net.op("Add", x, net.linear(net.op("Mul", gate, net.linear(inner, 8, 12), name="gated"), 12, 8),
               name="residual1")  # fmt: skip
    logits = net.op("Div", net.linear(x, 8, 11), net.const("cap", 4.0), name="capped")
    net.output(net.op("Mul", net.op("Tanh", logits, name="cap_tanh"), "cap", name="logits"), "N", 6, 11)
    return net.build()


def scaled_layers(seed: int) -> onnx.ModelProto:
    """Layers whose scale is next to nothing at the start of training (Touvron et al. 2021), and a saturated gate."""
    net = Builder("scaled_layers", seed)
    x = net.input("x", "N", 4, 9, 9)
    for block in range(2):
        inner = net.op("Relu", net.conv(x, 4, 4, 3, group=4, pads=[1, 1, 1, 1]), name=f"relu{block}")
        inner = net.conv(inner, 4, 4, 1)
        x = net.op("Add", x, net.op("Mul", inner, net.const(f"layer_scale{block}", np.full((4, 1, 1), 1e-6)),
                                    name=f"scaled{block}"), name=f"residual{block}")  # fmt: skip
    gate = net.op("Sigmoid", net.op("Add", net.conv(x, 4, 4, 1, scale=0.1, bias=False),
                                    net.const("gate_bias", np.full((4, 1, 1), 60.0)), name="gate_sum"),
                  name="gate")  # fmt: skip
    x = net.op("Mul", x, gate, name="gated")
    x = net.op("Clip", x, net.const("low_bound", -1e4), net.const("high_bound", 1e4), name="bounded")
    highest = net.op("ReduceMax", x, name="max0", axes=[2, 3], keepdims=0)
    lowest = net.op("ReduceMin", x, name="min0", axes=[2, 3], keepdims=0)
    large = net.op("Greater", highest, net.const("alarm", 9e3), name="is_large")
    flat = net.op("Add", highest, lowest, name="ends")
    y = net.op("Where", large, net.op("Neg", flat, name="neg0"), flat, name="where0")
    net.output(net.dense(y, 4, 5), "N", 5)
    return net.build()


def contrib(seed: int) -> onnx.ModelProto:
    """Operators of onnxruntime's own beside a decision."""
    net = Builder("contrib", seed)
    x = net.linear(net.input("x", "N", 6), 6, 8)
    x = net.op("Gelu", x, name="gelu0", domain=CONTRIB)
    passed = net.op("Greater", x, net.const("least", 0.3), name="greater0")
    x = net.op("Where", passed, x, net.op("QuickGelu", x, name="quick0", domain=CONTRIB, alpha=1.702), name="where0")
    net.output(net.op("FusedMatMul", x, net.normal("last_weight", 5, 8), name="last", domain=CONTRIB, transB=1,
                      alpha=0.5), "N", 5)  # fmt: skip
    return net.build()


def body(name: str, nodes: Sequence[onnx.NodeProto], reads: Sequence[tuple[str, int, list[int | str] | None]],
         gives: Sequence[tuple[str, int]], weights: Sequence[tuple[str, Array]] = ()) -> onnx.GraphProto:  # fmt: skip
    """A graph inside a node."""
    return helper.make_graph(
        list(nodes), name, [helper.make_tensor_value_info(*item) for item in reads],
        [helper.make_tensor_value_info(value, kind, None) for value, kind in gives],
        [numpy_helper.from_array(np.asarray(array, np.float32), held) for held, array in weights],
    )  # fmt: skip


def nested(seed: int) -> onnx.ModelProto:
    """A Loop, a Scan and an If with layers, weights and constants inside, one body within another."""
    net = Builder("nested", seed)
    x, flag = net.input("x", "N", 5, 6), net.input("flag", kind=BOOL)
    drawn = [0.4 * net.generator.standard_normal((6, 6)) for _ in range(3)]
    node = helper.make_node
    step = body("step", [
        node("MatMul", ["state", "step_weight"], ["step_product"], name="step_matmul"),
        node("Add", ["step_product", "now"], ["step_sum"], name="step_add"),
        node("Tanh", ["step_sum"], ["step_next"], name="step_tanh"),
        node("Identity", ["step_next"], ["step_row"], name="step_row_copy"),
    ], [("state", FLOAT, None), ("now", FLOAT, None)], [("step_next", FLOAT), ("step_row", FLOAT)],
        [("step_weight", drawn[0])])  # fmt: skip
    start = net.op("ReduceMean", x, name="start", axes=[1], keepdims=0)
    net.op("Scan", start, x, name="scan0", results=2, body=step, num_scan_inputs=1, scan_input_axes=[1],
           scan_output_axes=[1])  # fmt: skip
    again = body("again", [
        node("MatMul", ["kept", "turn_weight"], ["turn_product"], name="turn_matmul"),
        node("LeakyRelu", ["turn_product"], ["turn_leaky"], name="turn_leaky", alpha=0.2),
        node("Mul", ["turn_leaky", "turn_decay"], ["turn_small"], name="turn_mul"),
        node("Softmax", ["turn_small"], ["turn_next"], name="turn_softmax", axis=-1),
        node("Identity", ["going"], ["still"], name="turn_still"),
    ], [("turn", INT64, []), ("going", BOOL, []), ("kept", FLOAT, None)], [("still", BOOL), ("turn_next", FLOAT)],
        [("turn_weight", drawn[1]), ("turn_decay", np.array(1.5))])  # fmt: skip
    looped = net.op("Loop", net.const("turns", 2), net.const("yes", True), "scan0_out1", name="loop0", body=again)
    then = body("then", [
        node("MatMul", [looped, "then_weight"], ["then_product"], name="then_matmul"),
        node("ReduceMean", ["then_product"], ["then_result"], name="then_mean", axes=[1], keepdims=0),
    ], [], [("then_result", FLOAT)], [("then_weight", drawn[2])])  # fmt: skip
    other = body("other", [
        node("ReduceMax", [looped], ["other_max"], name="other_max", axes=[1], keepdims=0),
        node("Clip", ["other_max", "other_low", "other_high"], ["other_result"], name="other_clip"),
    ], [], [("other_result", FLOAT)], [("other_low", np.array(0.2)), ("other_high", np.array(0.3))])  # fmt: skip
    y = net.op("If", flag, name="if0", then_branch=then, else_branch=other)
    net.output(net.dense(y, 6, 4), "N", 4)
    net.output("scan0_out1", "N", 5, 6)
    return net.build()


def lengths(seed: int) -> onnx.ModelProto:
    """Recurrent layers over padded sequences, the last step of each, and a mean over what is no padding."""
    net = Builder("lengths", seed)
    x, size = net.input("frames", "T", "N", 4), net.input("lengths", "N", kind=INT32)
    net.op("LSTM", x, net.normal("l_w", 1, 20, 4, scale=0.6), net.normal("l_r", 1, 20, 5, scale=0.6),
           net.normal("l_b", 1, 40, scale=0.3), size, name="lstm0", results=3, hidden_size=5)  # fmt: skip
    rows = net.op("Squeeze", "lstm0_out0", net.const("directions", [1]), name="rows")
    net.op("GRU", rows, net.normal("g_w", 2, 12, 5, scale=0.6), net.normal("g_r", 2, 12, 4, scale=0.6),
           net.normal("g_b", 2, 24, scale=0.3), size, name="gru0", results=2, hidden_size=4,
           direction="bidirectional", linear_before_reset=1)  # fmt: skip
    turned = net.op("ReverseSequence", x, net.op("Cast", size, name="whole", to=INT64), name="reverse0", batch_axis=1,
                    time_axis=0)  # fmt: skip
    first = net.op("Gather", turned, net.const("first", 0), name="last_frame", axis=0)
    ends = net.op("Transpose", "gru0_out1", name="ends_first", perm=[1, 0, 2])
    ends = net.op("Reshape", ends, net.const("ends_rows", [0, 8]), name="ends")
    last = net.op("Squeeze", "lstm0_out1", net.const("layers", [0]), name="last")
    net.output(net.dense(net.op("Concat", last, ends, first, name="joined", axis=1), 17, 6), "N", 6)
    return net.build()


def half_attention(seed: int) -> onnx.ModelProto:
    """Square attention in float16: as many steps as channels, so that no size tells one axis from another."""
    net = Builder("half_attention", seed)
    x = net.op("Cast", net.input("x", "N", 8, 8), name="to_half", to=TensorProto.FLOAT16)
    parts = [net.op("MatMul", x, net.normal(f"{part}_weight", 8, 8, scale=0.35), name=part)
             for part in ("query", "key", "value")]  # fmt: skip
    scores = net.op("MatMul", parts[0], net.op("Transpose", parts[1], name="turned", perm=[0, 2, 1]), name="scores")
    scores = net.op("Mul", scores, net.const("scale", 0.35), name="scaled")
    x = net.op("Add", x, net.op("MatMul", net.op("Softmax", scores, name="softmax0", axis=-1), parts[2], name="mixed"),
               name="residual")  # fmt: skip
    x = net.op("LayerNormalization", x, net.positive("gamma", 8), net.normal("beta", 8, scale=0.3), name="norm0",
               axis=-1, epsilon=1e-3)  # fmt: skip
    x = net.op("Relu", net.op("MatMul", x, net.normal("last_weight", 8, 8), name="last"), name="relu0")
    net.output(net.op("Cast", x, name="to_single", to=FLOAT), "N", 8, 8)
    for tensor in net.weights:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    return net.build()


def draw_words(generator: Generator, batch: int, scale: float) -> Feeds:
    ids = np.where(generator.random((batch, 6)) < 0.2, 3, generator.integers(0, 400, (batch, 6)))
    codes = generator.integers(0, [40, 50, 60], (batch, 3))
    return {"ids": ids, "codes": codes, "distances": generator.integers(-60, 61, (batch, 6))}


def draw_indices(generator: Generator, batch: int, scale: float) -> Feeds:
    return {
        "codes": generator.integers(-20, 21, (batch, 6)), "words": generator.integers(-9, 9, (batch, 6)),
        "x": normal(generator, scale, batch, 6, 6),
    }  # fmt: skip


def draw_nested(generator: Generator, batch: int, scale: float) -> Feeds:
    return {"x": normal(generator, scale, batch, 5, 6), "flag": np.array(generator.integers(0, 2), np.bool_)}


def draw_lengths(generator: Generator, batch: int, scale: float) -> Feeds:
    steps = int(generator.choice([3, 6]))
    sizes = generator.permutation([1, steps, *generator.integers(1, steps + 1, 16)][:batch])
    return {"frames": normal(generator, scale, steps, batch, 4), "lengths": sizes.astype(np.int32)}


def one(name: str, *shape: int):  # type: ignore[no-untyped-def]
    """Draws for one input."""
    return lambda generator, batch, scale: {name: normal(generator, scale, batch, *shape)}


NETWORKS = (
    Network("indices", "computed indices", indices, draw_indices),
    Network("words", "words, fields and distances", words, draw_words),
    Network("heatmap", "local maxima of a heat map", heatmap, one("image", 3, 15, 17)),
    Network("decoder", "decoder with rotary places", decoder, one("frames", 6, 8)),
    Network("scaled_layers", "layer scales of next to nothing", scaled_layers, one("x", 4, 9, 9)),
    Network("contrib", "onnxruntime's own operators", contrib, one("x", 6)),
    Network("nested", "layers in bodies", nested, draw_nested),
    Network("lengths", "padded sequences", lengths, draw_lengths),
    Network("half_attention", "square attention in float16", half_attention, one("x", 8, 8)),
)

__all__ = ["NETWORKS"]

"""A perceptron with the odd activations, a detector, and one of integers and branches."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.faults.builder import Builder, Feeds, Generator, Network, normal

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def mlp(seed: int) -> onnx.ModelProto:
    """Dense layers with every activation, a layer shared by two places, logarithms, powers and roots."""
    net = Builder("mlp", seed)
    x = net.input("x", "N", 10)
    x = net.op("Sigmoid", net.linear(x, 10, 12), name="sigmoid0")
    x = net.op("Tanh", net.dense(x, 12, 12), name="tanh0")
    x = net.op("Elu", net.dense(x, 12, 12), name="elu0", alpha=0.7)
    shared, bias = net.normal("shared_weight", 12, 12, scale=0.35), net.normal("shared_bias", 12, scale=0.2)
    for turn in range(2):
        x = net.op("Add", net.op("MatMul", x, shared, name=f"shared{turn}"), bias, name=f"shared_add{turn}")
        x = net.op("Softplus" if turn else "Softsign", x, name=f"soft{turn}")
    x = net.op("ThresholdedRelu", net.norm(x, 12, 1e-5), name="threshold0", alpha=0.5)
    root = net.op(
        "Sqrt", net.op("Add", net.op("Abs", x, name="abs0"), net.const("eps", 1e-2), name="eps0"), name="sqrt0"
    )
    log = net.op("Log", net.op("Add", root, net.const("shift", 1.0), name="shift0"), name="log0")
    power = net.op("Pow", root, net.const("exponent", 1.5), name="pow0")
    small = net.op("Exp", net.op("Neg", root, name="neg0"), name="exp0")
    x = net.op("Sum", log, net.op("Div", power, net.const("ten", 10.0), name="div0"), small, name="sum0")
    x = net.op("Dropout", x, name="dropout0")
    net.output(net.op("LogSoftmax", net.dense(x, 12, 5), name="logsoftmax0", axis=1), "N", 5)
    return net.build()


def detector(seed: int) -> onnx.ModelProto:
    """One-shot detector: scores, boxes decoded with variances against anchors, suppression, the best boxes."""
    net = Builder("detector", seed)
    x = net.input("image", 1, 3, 24, 32)
    x = net.op("Relu", net.norm(net.conv(x, 3, 8, 3, strides=[2, 2], pads=[1, 1, 1, 1], bias=False), 8), name="relu0")
    x = net.op("Relu", net.conv(x, 8, 12, 3, strides=[2, 2], pads=[1, 1, 1, 1]), name="relu1")
    count = 6 * 8 * 2
    deltas = net.op(
        "Transpose", net.conv(x, 12, 8, 3, pads=[1, 1, 1, 1], scale=0.04), name="deltas_last", perm=[0, 2, 3, 1]
    )
    deltas = net.op("Reshape", deltas, net.const("delta_rows", [0, count, 4]), name="deltas")
    scores = net.op(
        "Transpose", net.conv(x, 12, 6, 3, pads=[1, 1, 1, 1], scale=0.02), name="scores_last", perm=[0, 2, 3, 1]
    )
    scores = net.op("Reshape", scores, net.const("score_rows", [0, count, 3]), name="score_table")
    scores = net.op("Softmax", scores, name="scores", axis=-1)
    top, left = np.mgrid[0:6, 0:8] * 4.0 + 2.0
    centres = np.stack([top, left], -1).reshape(-1, 1, 2)
    sizes = np.broadcast_to([[6.0, 6.0], [5.0, 10.0]], (48, 2, 2))
    anchors = np.concatenate([np.broadcast_to(centres, (48, 2, 2)), sizes], -1).reshape(1, count, 4).astype(np.float32)
    middle = net.const("anchor_centres", anchors[..., :2])
    extent = net.const("anchor_sizes", anchors[..., 2:])
    ends = [net.const(f"at{place}", [place]) for place in (0, 2, 4)]
    last = net.const("last_axis", [2])
    shift = net.op("Slice", deltas, ends[0], ends[1], last, name="shift")
    stretch = net.op("Slice", deltas, ends[1], ends[2], last, name="stretch")
    shift = net.op(
        "Mul", net.op("Mul", shift, net.const("variance0", 0.1), name="shift_scaled"), extent, name="shift_sized"
    )
    centre = net.op("Add", shift, middle, name="centre")
    stretch = net.op("Mul", stretch, net.const("variance1", 0.2), name="stretch_scaled")
    stretch = net.op(
        "Clip", stretch, net.const("shrunk_most", -4.0), net.const("grown_most", 4.0), name="stretch_bound"
    )
    grown = net.op("Exp", stretch, name="grown")
    span = net.op("Mul", net.op("Mul", grown, extent, name="span"), net.const("half", 0.5), name="half_span")
    corners = [net.op("Sub", centre, span, name="low_corner"), net.op("Add", centre, span, name="high_corner")]
    boxes = net.op("Concat", *corners, name="boxes", axis=2)
    foreground = net.op("Slice", scores, net.const("from1", [1]), net.const("to3", [3]), last, name="foreground")
    by_class = net.op("Transpose", foreground, name="by_class", perm=[0, 2, 1])
    kept = net.op(
        "NonMaxSuppression", boxes, by_class, net.const("most", [6]), net.const("overlap", [0.45]),
        net.const("least", [0.2]), name="nms0",
    )  # fmt: skip
    best = net.op("ReduceMax", foreground, name="best", axes=[2], keepdims=0)
    values = net.op("TopK", best, net.const("k", [5]), name="topk0", results=2)
    rows = net.op("Squeeze", "topk0_out1", net.const("batch_axis", [0]), name="rows")
    net.output(kept, "K", 3, kind=INT64)
    net.output(values, 1, 5)
    net.output(net.op("Gather", boxes, rows, name="chosen", axis=1), 1, 5, 4)
    return net.build()


def control(seed: int) -> onnx.ModelProto:
    """Integers, comparisons, an If, a Loop, rounding, remainders, sorting, one-hot, sums along an axis."""
    net = Builder("control", seed)
    x, codes = net.input("x", "N", 8), net.input("codes", "N", 8, kind=INT64)
    flag = net.input("flag", 1, kind=BOOL)
    five = net.const("five", 5)
    rest = net.op("Mod", codes, five, name="mod0")
    rest_real = net.op("Cast", rest, name="rest_real", to=FLOAT)
    down = net.op(
        "Floor",
        net.op("Div", net.op("Cast", codes, name="codes_real", to=FLOAT), net.const("seven", 7.0), name="div0"),
        name="floor0",
    )  # fmt: skip
    rounded = net.op("Round", net.op("Div", "codes_real_out", net.const("halves", 2.0), name="halves0"), name="round0")
    hot = net.op("OneHot", rest, net.const("depth", 5), net.const("off_on", [0.0, 1.0]), name="onehot0", axis=-1)
    counted = net.op("ReduceSum", hot, net.const("word_axis", [1]), name="counts", keepdims=0)
    x = net.op(
        "Where", net.op("Greater", x, rest_real, name="greater0"), x, net.op("Add", down, rounded, name="both0"),
        name="where0",
    )  # fmt: skip
    x = net.linear(x, 8, 8)
    y = net.op(
        "If", net.op("Squeeze", flag, name="flag0"), name="if0", then_branch=_branch("then", x, "Relu"),
        else_branch=_branch("else", x, "Neg"),
    )  # fmt: skip
    y = _loop(net, y)
    running = net.op("CumSum", y, net.const("axis1", 1), name="cumsum0")
    sorted_ = net.op("TopK", running, net.const("k", [4]), name="topk0", results=2, axis=1, largest=1)
    low = net.op("ReduceMin", y, name="min0", axes=[1])
    part = net.op(
        "Slice", y, net.const("from1", [1]), net.const("to8", [8]), net.const("axes1", [1]), net.const("by2", [2]),
        name="slice0",
    )  # fmt: skip
    taken = net.op("Gather", y, net.const("columns", [0, 3, 5]), name="gather0", axis=1)
    halves = net.op("Split", y, net.const("parts", [3, 5]), name="split0", results=2, axis=1)
    larger = net.op("Max", taken, halves, name="max0")
    flipped = net.op("Expand", low, net.const("wide", [1, 2]), name="expand0")
    tiled = net.op("Tile", part, net.const("twice", [1, 2]), name="tile0")
    net.output(
        net.op("Concat", sorted_, larger, flipped, tiled, counted, "split0_out1", name="joined", axis=1), "N", None
    )
    net.output("topk0_out1", "N", 4, kind=INT64)
    net.output(net.op("ArgMax", counted, name="argmax0", axis=1, keepdims=0), "N", kind=INT64)
    return net.build()


def _branch(name: str, outer: str, kind: str) -> onnx.GraphProto:
    node = helper.make_node(kind, [outer], [f"{name}_result"], name=f"{name}_{kind.lower()}")
    return helper.make_graph([node], name, [], [helper.make_tensor_value_info(f"{name}_result", FLOAT, None)])


def _loop(net: Builder, start: str) -> str:
    """Three turns of y = y / 2 + 1."""
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["state", "loop_half"], ["halved"], name="loop_mul"),
            helper.make_node("Add", ["halved", "loop_one"], ["next"], name="loop_add"),
            helper.make_node("Identity", ["going"], ["still"], name="loop_still"),
        ],
        "body",
        [helper.make_tensor_value_info("turn", INT64, []), helper.make_tensor_value_info("going", BOOL, []),
         helper.make_tensor_value_info("state", FLOAT, None)],
        [helper.make_tensor_value_info("still", BOOL, []), helper.make_tensor_value_info("next", FLOAT, None)],
    )  # fmt: skip
    net.const("loop_half", 0.5), net.const("loop_one", 1.0)
    return net.op("Loop", net.const("turns", 3), net.const("yes", True), start, name="loop0", body=body)


def draw_mlp(generator: Generator, batch: int, scale: float) -> Feeds:
    return {"x": normal(generator, scale, batch, 10)}


def draw_detector(generator: Generator, batch: int, scale: float) -> Feeds:
    return {"image": normal(generator, scale, 1, 3, 24, 32)}


def draw_control(generator: Generator, batch: int, scale: float) -> Feeds:
    return {
        "x": normal(generator, scale, batch, 8),
        "codes": generator.integers(-40, 41, (batch, 8)),
        "flag": generator.integers(0, 2, 1).astype(np.bool_),
    }


NETWORKS = (
    Network("mlp", "MLP", mlp, draw_mlp),
    Network("detector", "detector with NMS", detector, draw_detector),
    Network("control", "integers and control flow", control, draw_control),
)

__all__ = ["NETWORKS"]

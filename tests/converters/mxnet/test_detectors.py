"""Small detectors of the classic kinds, random weights, whole: MXNet's results and onnxruntime's, at several sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol, mx
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from tests.building import run_model
from tests.equivalence.live import Live
from tests.requirements import needing

Arrays = dict[str, NDArray[Any]]
STRIDE, ANCHORS, CLASSES = 4, 6, 3


def backbone(data: Any, width: int) -> Any:
    """A quarter of the picture's size, `width` channels."""
    hidden = mx.sym.Convolution(data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=8, name="conv1")
    hidden = mx.sym.Activation(hidden, act_type="relu", name="relu1")
    return mx.sym.Convolution(hidden, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=width, name="conv2")


def proposed(features: Any, info: Any, op: Any) -> Any:
    """The regions of a proposal network on the features."""
    scores = mx.sym.Convolution(features, kernel=(1, 1), num_filter=2 * ANCHORS, name="rpn_score")
    pairs = mx.sym.reshape(scores, shape=(0, 2, -1, 0), name="rpn_pairs")
    chances = mx.sym.softmax(pairs, axis=1, name="rpn_softmax")
    chances = mx.sym.reshape(chances, shape=(0, 2 * ANCHORS, -1, 0), name="rpn_chances")
    offsets = mx.sym.Convolution(features, kernel=(1, 1), num_filter=4 * ANCHORS, name="rpn_offsets")
    return op(
        cls_prob=chances, bbox_pred=offsets, im_info=info, feature_stride=STRIDE, scales=(2, 4), ratios=(0.5, 1, 2),
        rpn_pre_nms_top_n=60, rpn_post_nms_top_n=12, threshold=0.6, rpn_min_size=4, name="rois",
    )  # fmt: skip


def faster_rcnn(op: Any) -> Any:
    """Proposals, their features pooled, classes and offsets of each."""
    data, info = mx.sym.var("data"), mx.sym.var("im_info")
    features = backbone(data, 6)
    rois = proposed(features, info, op)
    pooled = mx.sym.ROIPooling(features, rois, pooled_size=(3, 3), spatial_scale=1 / STRIDE, name="pool")
    hidden = mx.sym.FullyConnected(pooled, num_hidden=16, name="fc")
    scores = mx.sym.softmax(mx.sym.FullyConnected(hidden, num_hidden=CLASSES, name="cls"), name="cls_prob")
    return mx.sym.Group([rois, scores, mx.sym.FullyConnected(hidden, num_hidden=4 * CLASSES, name="bbox")])


def rfcn(deformable: bool) -> Any:
    """Proposals, and position-sensitive maps averaged in each."""
    data, info = mx.sym.var("data"), mx.sym.var("im_info")
    features = backbone(data, 6)
    rois = proposed(features, info, mx.sym.contrib.MultiProposal)
    maps = mx.sym.Convolution(features, kernel=(1, 1), num_filter=CLASSES * 9, name="maps")
    stated = {"spatial_scale": 1 / STRIDE, "output_dim": CLASSES, "pooled_size": 3, "group_size": 3}
    if deformable:
        moves = mx.sym.Convolution(features, kernel=(1, 1), num_filter=2 * 9, name="moves")
        trans = mx.sym.contrib.DeformablePSROIPooling(
            moves, rois, **(stated | {"output_dim": 2}), no_trans=True, sample_per_part=2, name="trans"
        )
        pooled = mx.sym.contrib.DeformablePSROIPooling(
            maps, rois, trans, **stated, trans_std=0.1, sample_per_part=2, name="pool"
        )
    else:
        pooled = mx.sym.contrib.PSROIPooling(maps, rois, **stated, name="pool")
    scores = mx.sym.Pooling(pooled, pool_type="avg", global_pool=True, kernel=(3, 3), name="mean")
    return mx.sym.Group([rois, mx.sym.softmax(mx.sym.flatten(scores), name="cls_prob")])


def ssd(training: bool) -> Any:
    """Anchors of one map, their classes and offsets; for training with targets and losses, as its scripts save it."""
    features = backbone(mx.sym.var("data"), 6)
    anchors = mx.sym.contrib.MultiBoxPrior(features, sizes=(0.3, 0.5), ratios=(1, 2), clip=True, name="anchors")
    scores = mx.sym.Convolution(features, kernel=(3, 3), pad=(1, 1), num_filter=3 * CLASSES, name="scores")
    scores = mx.sym.reshape(mx.sym.transpose(scores, axes=(0, 2, 3, 1)), shape=(0, -1, CLASSES))
    scores = mx.sym.transpose(scores, axes=(0, 2, 1), name="cls_pred")
    offsets = mx.sym.Convolution(features, kernel=(3, 3), pad=(1, 1), num_filter=12, name="offsets")
    offsets = mx.sym.flatten(mx.sym.transpose(offsets, axes=(0, 2, 3, 1)), name="loc_pred")
    if not training:
        chances = mx.sym.softmax(scores, axis=1, name="cls_prob")
        return mx.sym.contrib.MultiBoxDetection(chances, offsets, anchors, nms_threshold=0.4, name="detection")
    targets = mx.sym.contrib.MultiBoxTarget(
        anchors, mx.sym.var("label"), scores, negative_mining_ratio=3, overlap_threshold=0.4, name="target"
    )
    chances = mx.sym.SoftmaxOutput(scores, targets[2], multi_output=True, use_ignore=True, ignore_label=-1,
                                   name="cls_prob")  # fmt: skip
    loss = mx.sym.MakeLoss(mx.sym.smooth_l1(targets[1] * (offsets - targets[0]), scalar=1.0), name="loc_loss")
    label = mx.sym.MakeLoss(targets[2], grad_scale=0, name="cls_label")
    found = mx.sym.contrib.MultiBoxDetection(chances, offsets, anchors, nms_threshold=0.4, name="detection")
    return mx.sym.Group([chances, loss, label, mx.sym.MakeLoss(found, grad_scale=0, name="det_out")])


KINDS: dict[str, Callable[[], Any]] = {
    "faster_rcnn": lambda: faster_rcnn(mx.sym.contrib.Proposal),
    "faster_rcnn_multi": lambda: faster_rcnn(mx.sym.contrib.MultiProposal),
    "rfcn": lambda: rfcn(deformable=False),
    "deformable_rfcn": lambda: rfcn(deformable=True),
    "ssd": lambda: ssd(training=False),
}


def drawn(symbol: Any, feeds: Arrays) -> Arrays:
    """Weights of a symbol whose scores are far apart."""
    generator = np.random.Generator(np.random.PCG64(5))
    shapes, _, _ = symbol.infer_shape(**{name: array.shape for name, array in feeds.items()})
    names = zip(symbol.list_arguments(), shapes, strict=True)
    return {
        name: generator.normal(0, 0.4, shape).astype(np.float32) for name, shape in names if name not in feeds
    }


def fed(kind: str, images: int, height: int, width: int) -> Arrays:
    """Pictures, and their sizes where the network wants them."""
    generator = np.random.Generator(np.random.PCG64([images, height, width]))
    found = {"data": generator.normal(0, 1, (images, 3, height, width)).astype(np.float32)}
    if kind != "ssd":
        found["im_info"] = np.array([[height, width - 3, 1.0 + image] for image in range(images)], np.float32)
    return found


def run(model: Any, feeds: Arrays) -> list[NDArray[Any]]:
    """The outputs from onnxruntime."""
    return list(run_model(model, feeds).values())


def assert_alike(found: list[NDArray[Any]], expected: list[NDArray[Any]]) -> None:
    """The same detections: shapes and numbers."""
    assert [value.shape for value in found] == [value.shape for value in expected]
    for value, wanted in zip(found, expected, strict=True):
        assert np.allclose(value, wanted, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.live
@pytest.mark.parametrize("kind", KINDS)
def test_a_detector_finds_what_mxnet_finds(kind: str, live: Live) -> None:
    symbol = KINDS[kind]()
    feeds = fed(kind, 1 if kind == "faster_rcnn" else 2, 32, 40)
    weights = drawn(symbol, feeds)
    with needing("MXNet"):
        expected = list(live.run(symbol.tojson(), feeds | weights).values())
    assert_alike(list(evaluate(read_symbol(symbol.tojson()), feeds | weights).values()), expected)
    graph = from_symbol(symbol.tojson(), weights, {name: array.shape for name, array in feeds.items()})
    assert_alike(run(to_model(graph, opset=13), feeds), expected)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ssd"])
def test_one_file_takes_pictures_of_every_size(kind: str) -> None:
    symbol = KINDS[kind]()
    images = 1 if kind == "faster_rcnn" else "N"
    weights = drawn(symbol, fed(kind, 1, 32, 40))
    graph = from_symbol(symbol.tojson(), weights, {"data": (images, 3, "H", "W"), "im_info": (images, 3)})
    model = to_model(graph, opset=13)
    for count, height, width in ((1, 32, 40), (1 if images == 1 else 3, 48, 28)):
        feeds = fed(kind, count, height, width)
        assert_alike(run(model, feeds), list(evaluate(read_symbol(symbol.tojson()), feeds | weights).values()))


def test_the_targets_of_a_training_symbol_are_cut_with_its_losses() -> None:
    symbol = ssd(training=True)
    feeds = fed("ssd", 2, 32, 40)
    weights = drawn(ssd(training=False), feeds)
    graph = from_symbol(symbol.tojson(), weights, {"data": (2, 3, 32, 40)})
    assert [value.name for value in graph.inputs] == ["data"]
    expected = evaluate(read_symbol(ssd(training=False).tojson()), feeds | weights)["detection_output"]
    assert_alike(run(to_model(graph, opset=13), feeds)[-1:], [expected])


def test_kept_losses_that_need_targets_are_refused() -> None:
    symbol, feeds = ssd(training=True), fed("ssd", 2, 32, 40) | {"label": np.zeros((2, 2, 5), np.float32)}
    with pytest.raises(UnsupportedOpError, match=r"MultiBoxTarget.*training only"):
        from_symbol(symbol.tojson(), {}, {name: array.shape for name, array in feeds.items()}, keep_loss=True)


@pytest.mark.parametrize("sizes", [{"scales": (1e39,)}, {"ratios": (1e39,)}, {"scales": (1e-46,)}], ids=str)
def test_anchors_beyond_float32_are_refused(sizes: dict[str, tuple[float, ...]]) -> None:
    proposal = mx.sym.contrib.Proposal(mx.sym.var("scores"), mx.sym.var("offsets"), mx.sym.var("info"), **sizes)
    with pytest.raises(UnsupportedOpError, match=r"beyond float32|expected positive numbers"):
        from_symbol(proposal.tojson(), {}, {"scores": (1, 2, 3, 3), "offsets": (1, 4, 3, 3), "info": (1, 3)})

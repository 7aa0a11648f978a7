"""Every fix that the audit names really mends: done as it is written, nothing disagrees and the numbers are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from graphir.analysis.padding_audit import audit_graphs
from graphir.converters.mxnet import from_symbol
from graphir.converters.onnx import from_model, to_model
from graphir.converters.table import fixes_of
from graphir.graph import Graph
from graphir.ops.shape import PadMode
from graphir.padding import Explicit, Same, SameMode, symmetric
from tests.analysis.mending import mended_onnx, mxnet_symbol
from tests.analysis.windowed import LOWEST, Model, computed, equal, is_sound, variants
from tests.typed import present

SAME, LOWER = Same(), Same(SameMode.LOWER)
NONE, ONE = symmetric((0, 0)), symmetric((1, 1))
BEHIND = ((0, 1), (0, 1))


def conv(padding: Explicit | Same = NONE, **more: Any) -> Model:
    return Model("conv", (8, 9), (3, 3), (2, 2), padding, **more)


def pool(kind: str, padding: Explicit | Same = NONE, **more: Any) -> Model:
    return Model(kind, (8, 9), (3, 2), (2, 2), padding, **more)


def transposed(padding: Explicit | Same = NONE, **more: Any) -> Model:
    return Model("transposed", (5, 6), (3, 4), (2, 2), padding, **more)


def front(
    pads: tuple[tuple[int, int], ...] = BEHIND, mode: PadMode = PadMode.CONSTANT, fill: float = 0.0
) -> tuple[PadMode, float, tuple[tuple[int, int], ...]]:
    return mode, fill, pads


MENDED = [
    # first, second, kind of the disagreement, fix
    (conv(SAME), conv(ONE), "padding", "pads=[0, 1, 1, 1]"),
    (conv(ONE), conv(SAME), "padding", "auto_pad='NOTSET', pads=[1, 1, 1, 1]"),
    (conv(SAME), conv(front=front(((1, 1), (1, 1)))), "padding", "pads=[0, 1, 1, 1], without the Pad front"),
    (conv(SAME), conv(SAME, front=front(((1, 0), (1, 1)))), "padding",
     "auto_pad='NOTSET', pads=[0, 1, 1, 1], without the Pad front"),
    (conv(front=front(mode=PadMode.REFLECT)), conv(Explicit(BEHIND)), "padding",
     "a Pad(mode='reflect', pads=[0, 0, 0, 0, 0, 0, 1, 1]) in front and pads=[0, 0, 0, 0]"),
    (conv(Explicit(BEHIND)), conv(front=front(mode=PadMode.EDGE)), "padding",
     "pads=[0, 0, 1, 1], without the Pad front"),
    (conv(front=front(fill=1.5)), conv(front=front()), "padding",
     "the Pad front as Pad(mode='constant', pads=[0, 0, 0, 0, 0, 0, 1, 1], constant_value=1.5) in front and "
     "pads=[0, 0, 0, 0]"),
    (pool("max"), pool("max", ceil=True), "ceil", "pads=[0, 0, 0, 0], ceil_mode=0"),
    (pool("max", ceil=True), pool("max"), "ceil", "pads=[0, 0, 0, 0], ceil_mode=1"),
    (pool("max", front=front()), pool("max", Explicit(BEHIND)), "padding",
     "a Pad(mode='constant', pads=[0, 0, 0, 0, 0, 0, 1, 1], constant_value=0) in front and pads=[0, 0, 0, 0]"),
    (pool("max", Explicit(BEHIND)), pool("max", front=front()), "padding", "pads=[0, 0, 1, 1], without the Pad front"),
    (pool("average", SAME), pool("average", Explicit(BEHIND), include=True), "divisor", "count_include_pad=0"),
    (pool("average", SAME), pool("average", front=front()), "divisor",
     "pads=[0, 0, 1, 1], count_include_pad=0, without the Pad front"),
    (pool("average", Explicit(BEHIND), include=True), pool("average", SAME), "divisor",
     "count_include_pad=1"),
    (pool("lp", SAME), pool("lp", Explicit(((1, 0), (1, 0)))), "padding", "pads=[0, 0, 1, 1]"),
    (transposed(SAME), transposed(ONE, extra=(1, 0)), "padding", "pads=[0, 1, 1, 1], output_padding=[0, 0]"),
    (transposed(ONE, extra=(1, 1)), transposed(ONE), "padding", "pads=[1, 1, 1, 1], output_padding=[1, 1]"),
    (Model("lp", (7,), (2,), (1,), front=front(((2, 2),))), Model("lp", (7,), (2,), (1,), symmetric((1,))),
     "padding", "a Pad(mode='constant', pads=[0, 0, 2, 0, 0, 2], constant_value=0) in front and pads=[0, 0]"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "kind", "fix"), MENDED)
def test_an_onnx_model_is_mended(left: Model, right: Model, kind: str, fix: str) -> None:
    model = to_model(right.graph())
    pairs = audit_graphs(left.graph(), right.graph(), fixes_of("onnx")).pairs
    (found,) = [text for pair in pairs for text in pair.disagreements]
    assert (found.kind, found.fix) == (kind, fix)
    wanted = computed(to_model(left.graph()).SerializeToString(), left.data())
    assert not equal(computed(model.SerializeToString(), left.data()), wanted)
    mended = mended_onnx(model, found.fix)
    assert audit_graphs(left.graph(), from_model(mended), fixes_of("onnx")).agrees
    assert equal(computed(mended.SerializeToString(), left.data()), wanted)


POOLING = {"kernel": (3, 2), "stride": (2, 2)}
MEAN = {**POOLING, "pool_type": "avg"}
MAXIMUM = {**POOLING, "pool_type": "max"}
CONVOLUTION = {"kernel": (3, 3), "stride": (2, 2), "num_filter": 3, "no_bias": True}
DECONVOLUTION = {"kernel": (3, 4), "stride": (2, 2), "num_filter": 3, "no_bias": True}
AT_BOTH_ENDS = {"kernel": (3,), "stride": (2,), "pool_type": "max", "pad": (1,)}
BEYOND = {"kernel": (1,), "stride": (2,), "pool_type": "max", "pad": (0,), "pooling_convention": "full"}
MENDED_SYMBOLS = [
    (conv(SAME), "Convolution", {**CONVOLUTION, "pad": (1, 1)},
     "mx.sym.Pad(mode='constant', pad_width=(0, 0, 0, 0, 0, 1, 1, 1), constant_value=0) in front and pad=(0, 0)"),
    (conv(ONE), "Convolution", CONVOLUTION, "pad=(1, 1)"),
    (conv(front=front(mode=PadMode.REFLECT)), "Convolution", {**CONVOLUTION, "pad": (1, 1)},
     "mx.sym.Pad(mode='reflect', pad_width=(0, 0, 0, 0, 0, 1, 0, 1)) in front and pad=(0, 0)"),
    (Model("conv", (9,), (2,), (1,), SAME), "Convolution", {"kernel": (2,), "num_filter": 3, "no_bias": True},
     "mx.sym.squeeze(mx.sym.Pad(mx.sym.expand_dims(data, axis=2), mode='constant', pad_width=(0, 0, 0, 0, 0, 0, 0, 1), "
     "constant_value=0), axis=2) in front and pad=(0,)"),
    (pool("max", SAME), "Pooling", {**MAXIMUM, "pad": (1, 1)}, "pad=(0, 0), pooling_convention='full'"),
    (pool("max"), "Pooling", {**MAXIMUM, "pooling_convention": "full"}, "pad=(0, 0), pooling_convention='valid'"),
    (pool("max", LOWER), "Pooling", MAXIMUM,
     "mx.sym.Pad(mode='constant', pad_width=(0, 0, 0, 0, 1, 0, 1, 0), constant_value=-3.4028234663852886e+38) in front "
     "and pad=(0, 0), pooling_convention='valid'"),
    (Model("max", (8,), (3,), (2,), SAME), "Pooling", AT_BOTH_ENDS, "pad=(0,), pooling_convention='full'"),
    (Model("max", (8,), (1,), (2,)), "Pooling", BEYOND,
     "pad=(0,), pooling_convention='valid'"),
    (pool("average", SAME), "Pooling", {**MEAN, "pad": (1, 1)},
     "pad=(0, 0), pooling_convention='full', count_include_pad=False"),
    (pool("average", symmetric((1, 1))), "Pooling", {**MEAN, "pad": (1, 1)}, "count_include_pad=False"),
    (pool("average", LOWER), "Pooling", MEAN,
     "mx.sym.Pad(mode='constant', pad_width=(0, 0, 0, 0, 1, 0, 1, 0), constant_value=0) in front and pad=(0, 0), "
     "pooling_convention='valid', divided by the same average of such padded ones"),
    (pool("average", Explicit(((1, 0), (1, 0))), include=True), "Pooling", MEAN,
     "mx.sym.Pad(mode='constant', pad_width=(0, 0, 0, 0, 1, 0, 1, 0), constant_value=0) in front and pad=(0, 0), "
     "pooling_convention='valid'"),
    (transposed(SAME), "Deconvolution", {**DECONVOLUTION, "pad": (1, 1), "adj": (1, 0)},
     "pad=(0, 0), adj=(0, 0) and mx.sym.slice(begin=(None, None, None, 1), end=(None, None, -1, -1)) behind"),
    (transposed(ONE, extra=(1, 1)), "Deconvolution", {**DECONVOLUTION, "pad": (1, 1)}, "pad=(1, 1), adj=(1, 1)"),
    (transposed(ONE), "Deconvolution", {**DECONVOLUTION, "pad": (1, 1), "adj": (1, 0)}, "pad=(1, 1), adj=(0, 0)"),
]  # fmt: skip


def read(symbol: str, model: Model) -> Graph:
    weights = {
        value.name: present(value.tensor).numpy() for value in model.graph().parameters if value.name == "layer_weight"
    }
    return from_symbol(symbol, weights, shapes={"data": (1, 2, *model.sizes)})


@pytest.mark.parametrize(("left", "op", "attrs", "fix"), MENDED_SYMBOLS)
def test_an_mxnet_symbol_is_mended(left: Model, op: str, attrs: dict[str, Any], fix: str) -> None:
    right = read(mxnet_symbol(op, attrs), left)
    found = [text for pair in audit_graphs(left.graph(), right, fixes_of("mxnet")).pairs for text in pair.disagreements]
    assert found[0].fix == fix
    wanted = computed(to_model(left.graph()).SerializeToString(), left.data())
    assert not equal(computed(to_model(right).SerializeToString(), left.data()), wanted)
    mended = read(mxnet_symbol(op, attrs, fix), left)
    assert audit_graphs(left.graph(), mended, fixes_of("mxnet")).agrees
    assert equal(computed(to_model(mended).SerializeToString(), left.data()), wanted)


POLICIES = [
    (conv(SAME), conv(ONE), "padding='SAME'"),
    (conv(), conv(ONE), "padding='VALID'"),
    (conv(ONE), conv(SAME), "tf.pad(data, [[0, 0], [1, 1], [1, 1], [0, 0]]) in front and padding='VALID'"),
    (pool("max", ONE), pool("max", SAME),
     f"tf.pad(data, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values={LOWEST!r}) in front and padding='VALID'"),
    (transposed(SAME), transposed(), "padding='SAME' and the spatial output shape 10x12"),
    (transposed(ONE, extra=(1, 1)), transposed(SAME),
     "padding='VALID' and a slice of the result that takes off (1, 0), (1, 0)"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "fix"), POLICIES)
def test_a_tensorflow_model_gets_a_policy_where_there_is_one(left: Model, right: Model, fix: str) -> None:
    found = audit_graphs(left.graph(), right.graph(), fixes_of("tensorflow"))
    assert [text.fix for pair in found.pairs for text in pair.disagreements] == [fix]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(variants())
def test_models_that_agree_compute_the_same(pair: tuple[Model, ...]) -> None:
    left, right = pair
    assume(is_sound(left) and is_sound(right))
    assume(audit_graphs(left.graph(), right.graph()).agrees)
    results = [computed(to_model(model.graph()).SerializeToString(), left.data()) for model in pair]
    assert equal(*results), np.abs(results[0] - results[1]).max() if results[0].shape == results[1].shape else "shapes"


def rounded_average(pads: tuple[tuple[int, int], ...]) -> Model:
    """An average with rounding up and padding of its own, which cannot include the Pad in front of it."""
    own = Explicit(((1, 0), (0, 0)))
    return Model("average", (3, 3), (2, 1), (1, 1), own, ceil=True, include=True, front=front(pads))


def test_pads_in_front_that_share_a_name_are_told_apart() -> None:
    left, right = rounded_average(((0, 0), (0, 1))), rounded_average(((0, 0), (1, 0)))
    assert not audit_graphs(left.graph(), right.graph()).agrees
    assert audit_graphs(left.graph(), left.graph()).agrees

"""Images changed at random, as for training: light, colours, flips. A range of one number leaves nothing to chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.ops.image_processing import (
    COMPONENTS,
    as_pixels,
    dtype_of,
    reversed_axis,
    single_image,
)
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import (
    Abs,
    Add,
    Cast,
    Clip,
    Div,
    Equal,
    Floor,
    Greater,
    Identity,
    Less,
    LessOrEqual,
    Mul,
    Sub,
    Where,
)
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.random import RandomNormal, RandomUniform
from graphir.ops.reduction import ReduceMax, ReduceMean, ReduceMin, TopK
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
# Takes an image of float32, the number of its channels and a factor; gives an image of float32.
Adjust = Callable[[ImportNode, Value, int, Value], Value]


def _random(node: ImportNode, low: float, high: float) -> Value:
    """A number of float32 between two, a constant if they are one."""
    if low == high:
        return node.constant(np.array([low], np.float32))
    node.decide(DecisionKind.RANDOM_NUMBERS, "drawn by the runtime's generator: of the same distribution, but others")
    return node.step(RandomUniform((1,), DType.FLOAT32, low=low, high=high), suffix="factor")


def _number(node: ImportNode, number: float) -> Value:
    return node.constant(number, DType.FLOAT32)


def _rest(node: ImportNode, factor: Value) -> Value:
    return node.step(Sub(), _number(node, 1.0), factor, suffix="rest")


def _brightness(node: ImportNode, data: Value, channels: int, factor: Value) -> Value:
    return node.step(Mul(), data, factor, suffix="brightness")


def _contrast(node: ImportNode, data: Value, channels: int, factor: Value) -> Value:
    """Away from, or towards, the mean light of the image."""
    light = data
    if channels == 3:
        light = node.step(MatMul(), data, node.constant(LUMA.reshape(3, 1)), suffix="light")
    mean = node.step(ReduceMean(keepdims=True), light, node.vector([0, 1, 2]), suffix="mean_light")
    kept = node.step(Mul(), data, factor, suffix="kept")
    return node.step(Add(), kept, node.step(Mul(), _rest(node, factor), mean, suffix="moved"), suffix="contrast")


def _saturation(node: ImportNode, data: Value, channels: int, factor: Value) -> Value:
    """Away from, or towards, grey, which MXNet computes from the last channel alone."""
    if channels == 1:
        return data
    grey = node.step(Mul(), _channel(node, data, 2), _number(node, float(LUMA[2])), suffix="grey")
    kept = node.step(Mul(), data, factor, suffix="kept")
    return node.step(Add(), kept, node.step(Mul(), _rest(node, factor), grey, suffix="moved"), suffix="saturation")


def _channel(node: ImportNode, data: Value, index: int) -> Value:
    bounds = node.vector([index]), node.vector([index + 1]), node.vector([2])
    return node.step(Slice(), data, *bounds, suffix="channel")


def _hue(node: ImportNode, data: Value, channels: int, factor: Value) -> Value:
    """Colours turned by a part of the circle, with the lightness and saturation that they had."""
    share = node.step(Div(), data, _number(node, 255.0), suffix="share")
    most = node.step(ReduceMax(keepdims=True), share, node.vector([2]), suffix="most")
    least = node.step(ReduceMin(keepdims=True), share, node.vector([2]), suffix="least")
    spread = node.step(Sub(), most, least, suffix="spread")
    total = node.step(Add(), most, least, suffix="total")
    half = _number(node, 0.5)
    light = node.step(Mul(), total, half, suffix="light")
    coloured = node.step(Greater(), spread, _number(node, float(np.finfo(np.float32).eps)), suffix="coloured")
    safe = node.step(Where(), coloured, spread, _number(node, 1.0), suffix="divisor")
    dark = node.step(Less(), light, half, suffix="dark")
    bright = node.step(Sub(), node.step(Sub(), _number(node, 2.0), most), least, suffix="bright")
    whole = node.step(Where(), coloured, node.step(Where(), dark, total, bright, suffix="whole"), _number(node, 1.0))
    strength = node.step(Div(), spread, whole, suffix="strength")
    strength = node.step(Where(), coloured, strength, _number(node, 0.0), suffix="saturation")
    turned = node.step(
        Add(), _angle(node, share, most, safe), node.step(Mul(), factor, _number(node, 360.0), suffix="turn")
    )
    return _colours(node, turned, light, strength)


def _angle(node: ImportNode, share: Value, most: Value, spread: Value) -> Value:
    """The hue of pixels in degrees, from 0 to 360."""
    red, green, blue = (_channel(node, share, index) for index in range(3))
    scale = node.step(Div(), _number(node, 60.0), spread, suffix="degrees")
    parts = []
    for left, right, base in ((green, blue, 0.0), (blue, red, 120.0), (red, green, 240.0)):
        part = node.step(Mul(), node.step(Sub(), left, right, suffix="difference"), scale, suffix="part")
        parts.append(node.step(Add(), part, _number(node, base), suffix="part"))
    other = node.step(Where(), node.step(Equal(), most, green), parts[1], parts[2], suffix="other")
    angle = node.step(Where(), node.step(Equal(), most, red), parts[0], other, suffix="angle")
    below = node.step(Less(), angle, _number(node, 0.0), suffix="below")
    whole = node.step(Add(), angle, _number(node, 360.0), suffix="around")
    return node.step(Where(), below, whole, angle, suffix="hue")


def _colours(node: ImportNode, hue: Value, light: Value, saturation: Value) -> Value:
    """Pixels of hue, lightness and saturation, 0 to 255."""
    one, six = _number(node, 1.0), _number(node, 6.0)
    part = node.step(Mul(), hue, _number(node, float(np.float32(1) / np.float32(60))), suffix="sixths")
    turns = node.step(Mul(), node.step(Floor(), node.step(Div(), part, six)), six, suffix="turns")
    part = node.step(Sub(), part, turns, suffix="sixth")
    product = node.step(Mul(), light, saturation, suffix="product")
    dark = node.step(LessOrEqual(), light, _number(node, 0.5), suffix="dark")
    shade = node.step(Mul(), light, node.step(Add(), one, saturation), suffix="shade")
    tint = node.step(Sub(), node.step(Add(), light, saturation), product, suffix="tint")
    high = node.step(Where(), dark, shade, tint, suffix="high")
    low = node.step(Sub(), node.step(Mul(), _number(node, 2.0), light), high, suffix="low")
    width = node.step(Sub(), high, low, suffix="width")
    planes = []
    for middle, sign in ((3.0, 1.0), (2.0, -1.0), (4.0, -1.0)):
        away = node.step(Abs(), node.step(Sub(), part, _number(node, middle)), suffix="away")
        if sign > 0:
            height = node.step(Sub(), away, one, suffix="height")
        else:
            height = node.step(Sub(), _number(node, 2.0), away, suffix="height")
        height = node.step(Clip(), height, _number(node, 0.0), one, suffix="height")
        planes.append(node.step(Add(), low, node.step(Mul(), width, height), suffix="plane"))
    grey = node.step(Equal(), saturation, _number(node, 0.0), suffix="grey")
    coloured = node.step(Where(), grey, light, node.step(Concat(2), *planes, suffix="planes"), suffix="colours")
    return node.step(Mul(), coloured, _number(node, 255.0), suffix="pixels")


def between(adjust: Adjust, channels: tuple[int, ...] = (1, 3)) -> ImportFunction:
    """An adjustment by a factor between `min_factor` and `max_factor`."""

    def import_adjustment(node: ImportNode) -> Value:
        low, high = (to_single(node.attrs[name]) for name in ("min_factor", "max_factor"))
        data, count = single_image(node, channels=channels)
        if not 0 <= low <= high:
            node.refuse(f"min_factor {low} and max_factor {high}, expected a lower and a higher number of 0 or more")
        if adjust is _saturation and count == 1:
            return node.emit(Identity(), data)
        dtype = dtype_of(node, data)
        numbers = node.step(Cast(DType.FLOAT32), data, suffix="numbers")
        _decide_rounding(node, dtype, adjust)
        return as_pixels(node, adjust(node, numbers, count, _random(node, low, high)), dtype)

    return import_adjustment


def _decide_rounding(node: ImportNode, dtype: DType, adjust: Adjust) -> None:
    if not dtype.is_float and adjust in (_hue, _contrast):
        node.decide(
            DecisionKind.ROUNDING, f"{dtype} is cut from float32, whose last digits depend on the order of sums: "
            "a number can be 1 higher or lower"
        )  # fmt: skip


def import_color_jitter(node: ImportNode) -> Value:
    """_image_random_color_jitter: brightness, contrast, saturation and hue adjusted in a random order.

    Every adjustment rounds to the dtype of the image.
    """
    attrs = node.attrs
    named: tuple[tuple[str, Adjust, float], ...] = (
        ("brightness", _brightness, 1.0), ("contrast", _contrast, 1.0), ("saturation", _saturation, 1.0),
        ("hue", _hue, 0.0),
    )  # fmt: skip
    chosen = [(to_single(attrs[name]), adjust, middle) for name, adjust, middle in named if attrs[name] > 0]
    if not chosen:
        node.refuse("no adjustment is above 0, and MXNet leaves the result undefined")
    # MXNet leaves the hue of an image of one channel undefined.
    data, count = single_image(node, channels=(3,) if attrs["hue"] > 0 else (1, 3))
    dtype = dtype_of(node, data)
    _decide_rounding(node, dtype, _hue)
    factors = [_random(node, to_single(middle - width), to_single(middle + width)) for width, _, middle in chosen]
    keys = node.step(RandomUniform((len(chosen),), DType.FLOAT32, low=0.0, high=1.0), suffix="keys")
    _, order = node.steps(TopK(axis=0), keys, node.vector([len(chosen)]), suffix="order")
    for place in range(len(chosen)):
        turn = node.step(Gather(0), order, node.vector([place]), suffix="turn")
        numbers = node.step(Cast(DType.FLOAT32), data, suffix="numbers")
        results = [
            _stored(node, adjust(node, numbers, count, factor), dtype)
            for factor, (_, adjust, _) in zip(factors, chosen, strict=True)
        ]
        data = results[-1]
        for index, result in enumerate(results[:-1]):
            is_turn = node.step(Equal(), turn, node.vector([index]), suffix="is_turn")
            data = node.step(Where(), is_turn, result, data, suffix="adjusted")
    return node.emit(Identity(), data)


def _stored(node: ImportNode, value: Value, dtype: DType) -> Value:
    if dtype is DType.UINT8:
        value = node.step(Clip(), value, _number(node, 0.0), _number(node, 255.0), suffix="limited")
    return node.step(Cast(dtype), value, suffix="stored")


def import_random_lighting(node: ImportNode) -> Value:
    """_image_random_lighting: every pixel moved along the principal components of colours by normal numbers."""
    data, _ = single_image(node, channels=(3,))
    dtype = dtype_of(node, data)
    deviation = to_single(node.attrs["alpha_std"])
    if deviation < 0:
        node.refuse(f"alpha_std {deviation}, expected a number of 0 or more")
    numbers = node.step(Cast(DType.FLOAT32), data, suffix="numbers")
    if deviation == 0:
        return as_pixels(node, numbers, dtype)
    node.decide(DecisionKind.RANDOM_NUMBERS, "drawn by the runtime's generator: of the same distribution, but others")
    alpha = node.step(RandomNormal((3, 1), DType.FLOAT32, mean=0.0, scale=deviation), suffix="alpha")
    moved = node.step(MatMul(), node.constant(COMPONENTS), alpha, suffix="light")
    moved = node.step(Reshape(), moved, node.vector([1, 1, 3]), suffix="colours")
    return as_pixels(node, node.step(Add(), numbers, moved, suffix="moved"), dtype)


def random_flip(axis: int) -> ImportFunction:
    """Rows (axis 0) or columns (axis 1) in reverse order, or not, by the toss of a coin."""

    def import_random_flip(node: ImportNode) -> Value:
        data, _ = single_image(node)
        node.decide(DecisionKind.RANDOM_NUMBERS, "the coin is tossed by the runtime's generator")
        toss = node.step(RandomUniform((1,), DType.FLOAT32, low=0.0, high=1.0), suffix="toss")
        heads = node.step(Less(), toss, _number(node, 0.5), suffix="heads")
        return node.emit(Where(), heads, node.step(Slice(), *reversed_axis(node, data, axis), suffix="turned"), data)

    return import_random_flip


IMPORTS: dict[str, ImportFunction] = {
    "_image_random_brightness": between(_brightness),
    "_image_random_color_jitter": import_color_jitter,
    "_image_random_contrast": between(_contrast),
    "_image_random_flip_left_right": random_flip(1),
    "_image_random_flip_top_bottom": random_flip(0),
    "_image_random_hue": between(_hue, (3,)),
    "_image_random_lighting": import_random_lighting,
    "_image_random_saturation": between(_saturation),
}

__all__ = ["IMPORTS"]

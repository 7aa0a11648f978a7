"""Operations between layers, as version 3 (`keras.ops`) and version 2 (TensorFlow's functions) record them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

Rows = Sequence[Callable[[Any, Any, Any], Any]]

UNARY_3: Rows = (
    lambda o, x, y: o.absolute(x), lambda o, x, y: o.ceil(x), lambda o, x, y: o.cos(x), lambda o, x, y: o.erf(x),
    lambda o, x, y: o.exp(x), lambda o, x, y: o.floor(x), lambda o, x, y: o.log(o.exp(x)), lambda o, x, y: -x,
    lambda o, x, y: o.sign(x), lambda o, x, y: o.sin(x), lambda o, x, y: o.sqrt(o.square(x)),
    lambda o, x, y: o.rsqrt(o.square(x)), lambda o, x, y: o.tanh(x), lambda o, x, y: o.elu(x),
    lambda o, x, y: o.gelu(x), lambda o, x, y: o.gelu(x, approximate=False), lambda o, x, y: o.hard_sigmoid(x),
    lambda o, x, y: o.hard_silu(x), lambda o, x, y: o.relu(x), lambda o, x, y: o.relu6(x), lambda o, x, y: o.selu(x),
    lambda o, x, y: o.sigmoid(x), lambda o, x, y: o.silu(x), lambda o, x, y: o.softplus(x),
    lambda o, x, y: o.softsign(x), lambda o, x, y: o.softmax(x, axis=1), lambda o, x, y: o.log_softmax(x),
    lambda o, x, y: o.clip(x, -0.5, 0.25), lambda o, x, y: o.stop_gradient(x), lambda o, x, y: o.normalize(x, axis=1),
)  # fmt: skip
BINARY_3: Rows = (
    lambda o, x, y: x + y, lambda o, x, y: 2 - x, lambda o, x, y: x * 3, lambda o, x, y: o.divide(x, y),
    lambda o, x, y: 1.5 / x, lambda o, x, y: o.maximum(x, 0.1), lambda o, x, y: o.minimum(x, y),
    lambda o, x, y: o.power(o.absolute(x), 1.5), lambda o, x, y: o.matmul(x, o.transpose(y, (0, 2, 1))),
    lambda o, x, y: o.cast(x > y, "float32"), lambda o, x, y: o.cast(o.greater_equal(x, 0.5), "int32"),
    lambda o, x, y: o.logical_and(o.less(x, y), o.less_equal(x, 1.0)), lambda o, x, y: o.logical_not(x < 0.0),
    lambda o, x, y: o.logical_or(o.equal(x, y), o.not_equal(x, x)),
)  # fmt: skip
SHAPES_3: Rows = (
    lambda o, x, y: o.mean(x, axis=(1, 2)), lambda o, x, y: o.sum(x, axis=-1, keepdims=True),
    lambda o, x, y: o.max(x, axis=1), lambda o, x, y: o.min(x, axis=-2), lambda o, x, y: o.prod(x, axis=1),
    lambda o, x, y: o.any(x > 1.0, axis=1), lambda o, x, y: o.all(x < 1.0, axis=[1, 2], keepdims=True),
    lambda o, x, y: o.reshape(x, (-1, 8, 3)), lambda o, x, y: o.expand_dims(x, 1),
    lambda o, x, y: o.squeeze(x[:, 2:3], axis=1), lambda o, x, y: o.concatenate([x, y], axis=2),
    lambda o, x, y: o.stack([x, y], axis=1), lambda o, x, y: o.transpose(x, (1, 0, 2)),
    lambda o, x, y: x[..., None, 1], lambda o, x, y: x[:, ::-1, 1:], lambda o, x, y: x[:, -2:, ::2],
)  # fmt: skip
MORE_3: Rows = (
    lambda o, x, y: o.arccos(o.tanh(x)), lambda o, x, y: o.arccosh(o.absolute(x) + 1.5),
    lambda o, x, y: o.arcsin(o.tanh(x)), lambda o, x, y: o.arcsinh(x), lambda o, x, y: o.arctan(x),
    lambda o, x, y: o.arctanh(0.5 * o.tanh(x)), lambda o, x, y: o.cosh(x), lambda o, x, y: o.erfc(x),
    lambda o, x, y: o.expm1(x), lambda o, x, y: o.log1p(o.absolute(x)), lambda o, x, y: o.reciprocal(x + 9.0),
    lambda o, x, y: o.sinh(o.cast(x, "int32")), lambda o, x, y: o.tan(0.3 * x), lambda o, x, y: o.isfinite(x),
    lambda o, x, y: o.isinf(x), lambda o, x, y: o.isnan(x), lambda o, x, y: o.copy(x), lambda o, x, y: o.arctan2(x, y),
    lambda o, x, y: o.mod(x, y + 9.0), lambda o, x, y: x // 2.5, lambda o, x, y: o.divide_no_nan(x, y),
    lambda o, x, y: o.logical_xor(x > 0.0, y > 0.0), lambda o, x, y: o.deg2rad(x), lambda o, x, y: o.rad2deg(x),
    lambda o, x, y: o.log2(o.absolute(x) + 0.1), lambda o, x, y: o.log10(o.absolute(x) + 0.1),
    lambda o, x, y: o.argmax(x, axis=-1), lambda o, x, y: o.argmin(x, axis=1, keepdims=True),
    lambda o, x, y: o.celu(x, alpha=0.7), lambda o, x, y: o.cumsum(x, axis=-1), lambda o, x, y: o.elu(x, alpha=0.6),
    lambda o, x, y: o.einsum("abc,adc->abd", x, y), lambda o, x, y: o.flip(x, axis=1),
    lambda o, x, y: o.full_like(x, 2.5), lambda o, x, y: o.hard_shrink(x, threshold=0.4),
    lambda o, x, y: o.hstack([x, y]), lambda o, x, y: o.hypot(x, y), lambda o, x, y: o.logaddexp(x, y),
    lambda o, x, y: o.leaky_relu(x, negative_slope=0.3), lambda o, x, y: o.logsumexp(x, axis=(1, 2), keepdims=True),
    lambda o, x, y: o.logsumexp(x) + x, lambda o, x, y: o.moveaxis(x, 1, -1), lambda o, x, y: o.norm(x, axis=-1),
    lambda o, x, y: o.one_hot(o.argmax(x, axis=-1), 4, axis=1), lambda o, x, y: o.repeat(x, 3, axis=1),
    lambda o, x, y: o.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=1.5), lambda o, x, y: o.roll(x, 2, axis=1),
    lambda o, x, y: o.pad(x, ((0, 0), (1, 2), (0, 1)), mode="reflect"), lambda o, x, y: o.round(x),
    lambda o, x, y: o.soft_shrink(x, threshold=0.3), lambda o, x, y: o.split(x, 3, axis=1)[1],
    lambda o, x, y: o.split(x, [2, 5], axis=1)[2], lambda o, x, y: o.std(x, axis=1), lambda o, x, y: o.var(x) + x,
    lambda o, x, y: o.swapaxes(x, 1, 2), lambda o, x, y: o.take(x, [0, -1, 2], axis=1), lambda o, x, y: o.trunc(x),
    lambda o, x, y: o.tile(x, (1, 2, 3)), lambda o, x, y: o.top_k(x, 2)[0], lambda o, x, y: o.top_k(x, 2)[1],
    lambda o, x, y: o.tril(x), lambda o, x, y: o.triu(x, k=1), lambda o, x, y: o.unstack(x, 6, axis=1)[2],
    lambda o, x, y: o.where(x > y, x, 0.0), lambda o, x, y: o.amax(x, axis=1), lambda o, x, y: o.amin(x, axis=1),
    lambda o, x, y: o.hard_tanh(x), lambda o, x, y: o.log_sigmoid(x), lambda o, x, y: o.tanh_shrink(x),
    lambda o, x, y: o.normalize(x, axis=-1, epsilon=0.5), lambda o, x, y: o.mod(o.cast(4.0 * x, "int32"), 3),
    lambda o, x, y: o.left_shift(o.cast(o.absolute(x), "int32"), 2),
    lambda o, x, y: o.right_shift(o.cast(o.absolute(9.0 * x), "int32"), 1),
    lambda o, x, y: o.bitwise_left_shift(o.cast(o.absolute(x), "int32"), 2),
    lambda o, x, y: o.bitwise_right_shift(o.cast(o.absolute(9.0 * x), "int32"), 1),
    lambda o, x, y: o.bitwise_and(o.cast(4.0 * x, "int32"), o.cast(4.0 * y, "int32")),
    lambda o, x, y: o.bitwise_or(o.cast(4.0 * x, "int32"), o.cast(4.0 * y, "int32")),
    lambda o, x, y: o.bitwise_xor(o.cast(4.0 * x, "int32"), o.cast(4.0 * y, "int32")),
    lambda o, x, y: o.bitwise_not(o.cast(4.0 * x, "int32")), lambda o, x, y: o.bitwise_invert(o.cast(4.0 * x, "int32")),
    lambda o, x, y: o.depth_to_space(o.reshape(x, (-1, 3, 2, 4)), 2), lambda o, x, y: o.ptp(x, axis=1),
    lambda o, x, y: o.space_to_depth(o.reshape(x, (-1, 4, 6, 1)), 2), lambda o, x, y: o.fabs(x),
)  # fmt: skip
ELEMENTS_3: Rows = (
    lambda o, x, y: o.abs(x), lambda o, x, y: o.cbrt(x), lambda o, x, y: o.conj(x), lambda o, x, y: o.conjugate(x),
    lambda o, x, y: o.real(x), lambda o, x, y: o.exp2(x), lambda o, x, y: o.isneginf(o.log(o.relu(x))),
    lambda o, x, y: o.isposinf(1.0 / o.relu(x)), lambda o, x, y: o.nan_to_num(o.log(o.relu(x))),
    lambda o, x, y: o.nan_to_num(o.sqrt(o.round(x)), nan=2.5, posinf=9.0, neginf=-8.0), lambda o, x, y: o.sinc(x),
    lambda o, x, y: o.sinc(o.relu(x)), lambda o, x, y: o.sparse_plus(x), lambda o, x, y: o.sparse_sigmoid(x),
    lambda o, x, y: o.squareplus(x, b=3), lambda o, x, y: o.threshold(x, 0.2, -1.5),
    lambda o, x, y: o.fmax(o.sqrt(x), y), lambda o, x, y: o.fmin(x, o.sqrt(y)), lambda o, x, y: o.fmod(x, y),
    lambda o, x, y: o.heaviside(o.round(x), y), lambda o, x, y: o.isclose(x, y, rtol=0.5, atol=0.25),
    lambda o, x, y: o.isclose(o.sqrt(x), o.sqrt(x), equal_nan=True), lambda o, x, y: o.logaddexp2(x, y),
    lambda o, x, y: o.glu(x, axis=1), lambda o, x, y: o.average(x, axis=1), lambda o, x, y: o.average(x) + y,
    lambda o, x, y: o.average(x, axis=1, weights=np.arange(1, 7)),
    lambda o, x, y: o.average(x, axis=-1, weights=o.square(y)), lambda o, x, y: o.count_nonzero(o.relu(x), axis=1),
    lambda o, x, y: o.moments(x, axes=[1, 2], keepdims=True)[1], lambda o, x, y: o.moments(x, axes=[1])[0],
    lambda o, x, y: o.nansum(o.sqrt(x), axis=1), lambda o, x, y: o.nanprod(o.sqrt(x), axis=-1, keepdims=True),
    lambda o, x, y: o.nanmax(o.sqrt(x), axis=2), lambda o, x, y: o.nanmin(o.sqrt(x)) + y,
    lambda o, x, y: o.nanmax(o.sqrt(x - 9.0), axis=1), lambda o, x, y: o.nanmean(o.sqrt(x), axis=(1, 2)),
    lambda o, x, y: o.nanvar(o.sqrt(x), axis=1, keepdims=True), lambda o, x, y: o.nanstd(o.sqrt(x)) + y,
    lambda o, x, y: o.det(o.matmul(x, o.swapaxes(x, 1, 2)) + 9.0 * np.eye(6, dtype="float32")),
)  # fmt: skip
ORDER_3: Rows = (
    lambda o, x, y: o.sort(x, axis=1), lambda o, x, y: o.sort(x), lambda o, x, y: o.sort(x, axis=None),
    lambda o, x, y: o.argsort(o.round(x), axis=1), lambda o, x, y: o.argsort(o.cast(3.0 * x, "int32")),
    lambda o, x, y: o.take(x, [5, 0, 5]), lambda o, x, y: o.take(x, o.argmax(y, axis=-1), axis=2),
    lambda o, x, y: o.take_along_axis(x, o.argsort(y, axis=1), axis=1),
    lambda o, x, y: o.take_along_axis(x, o.argmax(y, axis=1, keepdims=True), axis=1),
    lambda o, x, y: o.take_along_axis(x, o.argmin(y, axis=-1, keepdims=True), axis=-1),
    lambda o, x, y: o.take_along_axis(o.max(x, axis=2, keepdims=True), o.argsort(y, axis=1), axis=1),
    lambda o, x, y: o.take_along_axis(x, np.array([2, 71, -5]), axis=None), lambda o, x, y: o.argmax(x),
    lambda o, x, y: o.argmin(x, keepdims=True), lambda o, x, y: o.cumprod(x, axis=1), lambda o, x, y: o.cumprod(x),
    lambda o, x, y: o.cumsum(x), lambda o, x, y: o.cumsum(o.cast(3.0 * x, "int32"), axis=1, dtype="float32"),
    lambda o, x, y: o.diff(x, axis=1), lambda o, x, y: o.diff(x, n=3), lambda o, x, y: o.diagonal(x, 1, 1, 2),
    lambda o, x, y: o.diagonal(x, offset=-2, axis1=2, axis2=1), lambda o, x, y: o.trace(x, 0, 1, 2),
    lambda o, x, y: o.segment_sum(o.reshape(x, (18, 4)), np.arange(18) % 5, num_segments=6),
    lambda o, x, y: o.segment_max(o.reshape(x, (18, 4)), np.arange(18) // 4, sorted=True),
    lambda o, x, y: o.segment_min(o.reshape(x, (18, 4)), np.arange(18) // 4, sorted=True),
    lambda o, x, y: o.segment_prod(o.reshape(x, (18, 4)), np.arange(18) % 3, num_segments=3),
    lambda o, x, y: o.digitize(x, np.array([-0.5, 0.0, 0.75])), lambda o, x, y: o.slice(x, (1, 2, 0), (2, 3, 4)),
    lambda o, x, y: o.scatter_update(x, [[0, 1], [2, 5]], np.ones((2, 4), "float32")),
    lambda o, x, y: o.scatter_update(x, [[0, 1], [0, 1]], y[0, :2], reduction="add"),
    lambda o, x, y: o.in_top_k(np.array([0, 3, 2]), x[:, 1], 2), lambda o, x, y: o.append(x, y, axis=2),
    lambda o, x, y: o.append(x, y), lambda o, x, y: o.broadcast_to(x[:, :1], (2, 3, 6, 4)),
    lambda o, x, y: o.dot(x, o.transpose(y, (1, 2, 0))), lambda o, x, y: o.dot(x, np.array([1, -2, 5, 3], "float32")),
    lambda o, x, y: o.inner(x, y), lambda o, x, y: o.outer(x[:, 1], y[:, 2]), lambda o, x, y: o.vdot(x, y),
    lambda o, x, y: o.tensordot(x, y, axes=[[0, 2], [0, 2]]), lambda o, x, y: o.tensordot(x, y[0, 0], axes=1),
    lambda o, x, y: o.tensordot(x, y[0], axes=2), lambda o, x, y: o.tensordot(x, y, axes=[[-1], [2]]),
    lambda o, x, y: o.dsplit(x, 2)[1], lambda o, x, y: o.hsplit(x, [2, 3])[2], lambda o, x, y: o.dstack([x, y]),
    lambda o, x, y: o.vstack([x, y]), lambda o, x, y: o.vsplit(x, [1, 2])[1],
    lambda o, x, y: o.fliplr(x), lambda o, x, y: o.flipud(x), lambda o, x, y: o.ravel(x),
    lambda o, x, y: o.rot90(x, 1, (1, 2)), lambda o, x, y: o.rot90(x, 3, (1, 2)), lambda o, x, y: o.rot90(x, 5, (2, 1)),
)  # fmt: skip


def _kernel(*shape: int) -> Any:
    """A kernel of numbers that are all different."""
    return np.sin(np.arange(np.prod(shape), dtype="float32")).reshape(shape)


def _pictures(x: Any, y: Any) -> Any:
    """Values (N, 4, 6, 3) of both, all above 0."""
    stacked = np.s_[:, :, :, None]
    return abs(x[stacked] * y[stacked]) * np.array([1.0, 0.5, 0.25], "float32")


WINDOWS_3: Rows = (
    lambda o, x, y: o.conv(x, _kernel(3, 4, 5), strides=2, padding="same"),
    lambda o, x, y: o.conv(_pictures(x, y), _kernel(3, 2, 3, 4), strides=(2, 1), padding="valid"),
    lambda o, x, y: o.conv(_pictures(x, y), _kernel(2, 2, 3, 4), dilation_rate=2),
    lambda o, x, y: o.conv(x[:, :, :, None, None], _kernel(2, 2, 1, 1, 3), padding="same"),
    lambda o, x, y: o.depthwise_conv(o.transpose(x, (0, 2, 1)), _kernel(3, 4, 2), data_format="channels_first"),
    lambda o, x, y: o.average_pool(o.transpose(x, (0, 2, 1)), 3, strides=2, data_format="channels_first"),
    lambda o, x, y: o.conv(x, o.reshape(y[0], (3, 4, 2))),
    lambda o, x, y: o.depthwise_conv(x, _kernel(3, 4, 2), padding="same"),
    lambda o, x, y: o.depthwise_conv(_pictures(x, y), _kernel(2, 3, 3, 1), strides=2),
    lambda o, x, y: o.separable_conv(_pictures(x, y), _kernel(2, 2, 3, 2), _kernel(1, 1, 6, 4)),
    lambda o, x, y: o.separable_conv(x, _kernel(3, 4, 1), _kernel(1, 4, 3), padding="same"),
    lambda o, x, y: o.max_pool(x, 3, strides=2, padding="same"), lambda o, x, y: o.max_pool(_pictures(x, y), (2, 3)),
    lambda o, x, y: o.average_pool(_pictures(x, y), 2, strides=1, padding="same"),
    lambda o, x, y: o.average_pool(x, 4), lambda o, x, y: o.image.resize(_pictures(x, y), (5, 3)),
    lambda o, x, y: o.image.resize(_pictures(x, y), (9, 8), interpolation="nearest"),
    lambda o, x, y: o.image.rgb_to_grayscale(_pictures(x, y)),
    lambda o, x, y: o.image.rgb_to_grayscale(_pictures(x, y)[..., :1]),
    lambda o, x, y: o.image.rgb_to_hsv(o.tanh(_pictures(x, y))),
    lambda o, x, y: o.image.hsv_to_rgb(o.tanh(_pictures(x, y))),
    lambda o, x, y: o.image.extract_patches(_pictures(x, y), (3, 2), strides=(1, 2), padding="same"),
    lambda o, x, y: o.image.extract_patches(_pictures(x, y), 2, dilation_rate=2, strides=1),
    lambda o, x, y: o.image.gaussian_blur(_pictures(x, y), (3, 3), (0.8, 1.5)),
    lambda o, x, y: o.image.pad_images(_pictures(x, y), 1, 2, target_height=9, target_width=7),
    lambda o, x, y: o.image.crop_images(_pictures(x, y), 1, 1, 2, 0),
    lambda o, x, y: o.image.crop_images(_pictures(x, y), bottom_cropping=1, right_cropping=1, target_height=3,
                                        target_width=2),
)  # fmt: skip
NORMS_3: Rows = (
    lambda o, x, y: o.layer_normalization(x, np.arange(4) + 0.5, np.arange(4) - 1.0),
    lambda o, x, y: o.layer_normalization(x, axis=1, epsilon=0.1),
    lambda o, x, y: o.layer_normalization(x, np.arange(6) + 0.5, axis=1),
    lambda o, x, y: o.layer_normalization(x, np.arange(24).reshape(6, 4) + 0.5, axis=[1, 2], rms_scaling=True),
    lambda o, x, y: o.rms_normalization(x, np.arange(4) + 0.5), lambda o, x, y: o.rms_normalization(x, epsilon=0.1),
    lambda o, x, y: o.batch_normalization(x, np.arange(4) / 4, np.arange(4) + 0.5, axis=-1),
    lambda o, x, y: o.batch_normalization(
        x, np.arange(6) / 4, np.arange(6) + 0.5, axis=1, offset=np.arange(6) - 2.0, scale=np.arange(6) + 0.1
    ),
    lambda o, x, y: o.batch_normalization(x, o.mean(y, axis=(0, 1)), o.square(y[0, 0]), axis=-1, epsilon=0.5),
    lambda o, x, y: o.dot_product_attention(*(o.reshape(value, (-1, 6, 2, 2)) for value in (x, y, x))),
    lambda o, x, y: o.dot_product_attention(
        *(o.reshape(value, (-1, 6, 2, 2)) for value in (x, y, y)), bias=np.arange(36).reshape(1, 1, 6, 6) / 9, scale=0.3
    ),
    lambda o, x, y: o.dot_product_attention(
        *(o.reshape(value, (-1, 6, 2, 2)) for value in (x, y, y)), is_causal=True
    ),
    lambda o, x, y: o.dot_product_attention(
        *(o.reshape(value, (-1, 6, 2, 2)) for value in (x, y, x)), is_causal=True,
        mask=o.expand_dims(o.greater(y[:, :, :1], o.expand_dims(x[:, :, 0], 1)), 1),
    ),
)  # fmt: skip
UNARY_2: Rows = (
    lambda t, x, y: t.abs(x), lambda t, x, y: t.math.ceil(x), lambda t, x, y: t.cos(x), lambda t, x, y: t.math.erf(x),
    lambda t, x, y: t.exp(x), lambda t, x, y: t.floor(x), lambda t, x, y: t.math.log(t.exp(x)), lambda t, x, y: -x,
    lambda t, x, y: t.sign(x), lambda t, x, y: t.sin(x), lambda t, x, y: t.sqrt(t.square(x)),
    lambda t, x, y: t.math.rsqrt(t.square(x)), lambda t, x, y: t.tanh(x), lambda t, x, y: t.nn.elu(x),
    lambda t, x, y: t.nn.gelu(x), lambda t, x, y: t.nn.gelu(x, approximate=True), lambda t, x, y: t.nn.relu(x),
    lambda t, x, y: t.nn.relu6(x), lambda t, x, y: t.nn.selu(x), lambda t, x, y: t.sigmoid(x),
    lambda t, x, y: t.nn.silu(x), lambda t, x, y: t.nn.softplus(x), lambda t, x, y: t.nn.softsign(x),
    lambda t, x, y: t.nn.softmax(x, axis=1), lambda t, x, y: t.nn.log_softmax(x),
    lambda t, x, y: t.clip_by_value(x, -0.5, 0.25), lambda t, x, y: t.stop_gradient(x), lambda t, x, y: t.identity(x),
    lambda t, x, y: t.math.l2_normalize(x, axis=1),
)  # fmt: skip
BINARY_2: Rows = (
    lambda t, x, y: x + y, lambda t, x, y: t.add(x, y), lambda t, x, y: 2 - x, lambda t, x, y: x * 3,
    lambda t, x, y: t.divide(x, y), lambda t, x, y: 1.5 / x, lambda t, x, y: t.maximum(x, 0.1),
    lambda t, x, y: t.minimum(x, y), lambda t, x, y: t.abs(x) ** 1.5,
    lambda t, x, y: t.matmul(x, y, transpose_b=True), lambda t, x, y: t.matmul(x, t.transpose(y, (0, 2, 1))),
    lambda t, x, y: t.cast(x > y, "float32"), lambda t, x, y: t.cast(t.greater_equal(x, 0.5), t.int32),
    lambda t, x, y: t.logical_and(t.less(x, y), t.less_equal(x, 1.0)), lambda t, x, y: t.logical_not(x < 0.0),
    lambda t, x, y: t.logical_or(t.equal(x, y), t.not_equal(x, x)),
)  # fmt: skip
SHAPES_2: Rows = (
    lambda t, x, y: t.reduce_mean(x, axis=(1, 2)), lambda t, x, y: t.reduce_sum(x, axis=-1, keepdims=True),
    lambda t, x, y: t.reduce_max(x, axis=1), lambda t, x, y: t.reduce_min(x, axis=-2),
    lambda t, x, y: t.reduce_prod(x, axis=1), lambda t, x, y: t.reduce_any(x > 1.0, axis=1),
    lambda t, x, y: t.reduce_all(x < 1.0, axis=[1, 2], keepdims=True), lambda t, x, y: t.reshape(x, (-1, 8, 3)),
    lambda t, x, y: t.expand_dims(x, 1), lambda t, x, y: t.squeeze(x[:, 2:3], axis=1),
    lambda t, x, y: t.concat([x, y], axis=2), lambda t, x, y: t.stack([x, y], axis=1),
    lambda t, x, y: t.transpose(x, (1, 0, 2)), lambda t, x, y: x[:, None, :, 1], lambda t, x, y: x[:, ::-1, 1:],
    lambda t, x, y: x[:, -2:, ::2],
)  # fmt: skip


def _model(rows_3: Rows, rows_2: Rows) -> Callable[[Any, Any], Any]:
    """A model that puts out the result of each operation on two values (6, 4)."""

    def build(keras: Any, layers: Any) -> Any:
        left, right = keras.Input((6, 4)), keras.Input((6, 4))
        functions, rows = (keras.ops, rows_3) if hasattr(keras, "ops") else (import_module("tensorflow"), rows_2)
        return keras.Model([left, right], [row(functions, left, right) for row in rows])

    return build


MODELS = {
    "operations-unary": _model(UNARY_3, UNARY_2),
    "operations-binary": _model(BINARY_3, BINARY_2),
    **{
        f"operations-{name}": _model(rows, UNARY_2[:1])
        for name, rows in (
            ("elements", ELEMENTS_3), ("more", MORE_3), ("norms", NORMS_3), ("order", ORDER_3), ("windows", WINDOWS_3)
        )
    },
    "operations-shapes": _model(SHAPES_3, SHAPES_2),
}

__all__ = ["MODELS"]

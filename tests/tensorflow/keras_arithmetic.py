"""Operations between layers, as version 3 (`keras.ops`) and version 2 (TensorFlow's functions) record them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

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
    "operations-shapes": _model(SHAPES_3, SHAPES_2),
}

__all__ = ["MODELS"]

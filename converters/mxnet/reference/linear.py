"""Matrix products in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    normalized_axis,
    require,
)


def fully_connected(attrs: Attributes, data: Array, weight: Array, *bias: Array) -> Array:
    """x W^T + b with weight (num_hidden, features); flatten (default) makes data (N, features) first."""
    values = data.reshape(data.shape[0], -1) if attrs.get("flatten", True) else data
    hidden = int(attrs["num_hidden"])
    require(weight.shape == (hidden, values.shape[-1]), f"weight {weight.shape}, expected {(hidden, values.shape[-1])}")
    dtype = accumulator(data.dtype)
    result = np.matmul(values.astype(dtype, copy=False), weight.astype(dtype, copy=False).T)
    if bias:
        require(bias[0].shape == (hidden,), f"bias {bias[0].shape}, expected {(hidden,)}")
        result = result + bias[0].astype(dtype)
    return np.asarray(result.astype(data.dtype, copy=False))


def dot(attrs: Attributes, left: Array, right: Array) -> Array:
    """Return the last axis of left against the first of right; transpose_a contracts left's first, transpose_b right's
    last.

    Two vectors give shape (1,).
    """
    dtype = accumulator(left.dtype)
    a, b = left.astype(dtype), right.astype(dtype)
    if a.ndim == 1 and b.ndim == 1:
        require(a.shape == b.shape, f"shapes {a.shape} and {b.shape} must be equal")
        return np.asarray(np.dot(a, b).reshape(1).astype(left.dtype))
    a_axis = 0 if attrs.get("transpose_a") else a.ndim - 1
    b_axis = b.ndim - 1 if attrs.get("transpose_b") else 0
    require(a.shape[a_axis] == b.shape[b_axis], f"sizes {a.shape[a_axis]} and {b.shape[b_axis]} must be equal")
    return np.tensordot(a, b, axes=(a_axis, b_axis)).astype(left.dtype)


def batched_product(attrs: Attributes, left: Array, right: Array) -> Array:
    """Return the product of the last two axes, each side transposed on request; leading axes must agree."""
    require(left.ndim == right.ndim and left.ndim >= 2, f"ranks {left.ndim} and {right.ndim}")
    require(left.shape[:-2] == right.shape[:-2], f"batch axes {left.shape[:-2]} and {right.shape[:-2]} must be equal")
    dtype = accumulator(left.dtype)
    a = np.swapaxes(left, -1, -2) if attrs.get("transpose_a") else left
    b = np.swapaxes(right, -1, -2) if attrs.get("transpose_b") else right
    require(a.shape[-1] == b.shape[-2], f"shapes {a.shape} and {b.shape} do not multiply")
    return np.asarray(np.matmul(a.astype(dtype), b.astype(dtype)).astype(left.dtype))


def batch_dot(attrs: Attributes, left: Array, right: Array) -> Array:
    """(..., M, K) times (..., K, N) for rank 3 and more."""
    require(left.ndim >= 3, f"data of rank {left.ndim}, expected 3 or more")
    return batched_product(attrs, left, right)


def by_factor(factor: float, product: Array) -> Array:
    """Return a product times a factor, of which BLAS makes zeros where it is 0, whatever the product is."""
    return np.asarray(factor * product) if factor else np.zeros_like(product)


def gemm2(attrs: Attributes, left: Array, right: Array) -> Array:
    """alpha op(A) op(B); `axis` names the axis of the matrix rows, -2 by default, the columns being the last axis."""
    axis = normalized_axis(attrs.get("axis", -2), left.ndim)
    a, b = np.moveaxis(left, axis, -2), np.moveaxis(right, axis, -2)
    result = by_factor(attrs.get("alpha", 1.0), batched_product(attrs, a, b))
    return np.moveaxis(result, -2, axis).astype(left.dtype)


def gemm(attrs: Attributes, left: Array, right: Array, addend: Array) -> Array:
    """alpha op(A) op(B) + beta C."""
    return np.asarray((gemm2(attrs, left, right) + by_factor(attrs.get("beta", 1.0), addend)).astype(left.dtype))


def syrk(attrs: Attributes, data: Array) -> Array:
    """alpha A A^T, or alpha A^T A with transpose."""
    flipped = np.swapaxes(data, -1, -2)
    product = np.matmul(flipped, data) if attrs.get("transpose") else np.matmul(data, flipped)
    return by_factor(attrs.get("alpha", 1.0), product).astype(data.dtype)


def heads_first(interleaved: Array, heads: int, parts: int, part: int) -> Array:
    """Return one of `parts` interleaved projections of (T, N, heads * parts * d), as (N * heads, T, d)."""
    length, batch, width = interleaved.shape
    require(width % (heads * parts) == 0, f"width {width} does not divide into {heads} heads of {parts} parts")
    split = interleaved.reshape(length, batch, heads, parts, -1)[:, :, :, part]
    return split.transpose(1, 2, 0, 3).reshape(batch * heads, length, -1)


def scores(queries: Array, keys: Array) -> Array:
    """Scaled dot products: Q / sqrt(d) times K^T."""
    dtype = accumulator(queries.dtype)
    scaled = queries.astype(dtype) / np.sqrt(queries.shape[-1])
    return np.asarray(np.matmul(scaled, keys.astype(dtype).transpose(0, 2, 1)).astype(queries.dtype))


def attended(attention: Array, values: Array, heads: int) -> Array:
    """attention (N * heads, T, S) times values (N * heads, S, d), as (T, N, heads * d)."""
    dtype = accumulator(values.dtype)
    fits = attention.ndim == 3 and (attention.shape[0], attention.shape[2]) == values.shape[:2]
    require(fits, f"attention {attention.shape} of values {values.shape}")
    mixed = np.matmul(attention.astype(dtype), values.astype(dtype))
    length, width = mixed.shape[1:]
    ordered = mixed.reshape(-1, heads, length, width).transpose(2, 0, 1, 3)
    return np.asarray(ordered.reshape(length, -1, heads * width).astype(values.dtype))


def self_attention_scores(attrs: Attributes, interleaved: Array) -> Array:
    """Scores (N * heads, T, T) of interleaved queries, keys and values (T, N, heads * 3 * d)."""
    heads = int(attrs["heads"])
    return scores(heads_first(interleaved, heads, 3, 0), heads_first(interleaved, heads, 3, 1))


def self_attention_values(attrs: Attributes, interleaved: Array, attention: Array) -> Array:
    """Values of interleaved queries, keys and values, weighted by attention (N * heads, T, T)."""
    heads = int(attrs["heads"])
    return attended(attention, heads_first(interleaved, heads, 3, 2), heads)


def cross_attention_scores(attrs: Attributes, queries: Array, keys_values: Array) -> Array:
    """Scores (N * heads, T, S) of queries (T, N, heads * d) and interleaved keys and values (S, N, heads * 2 * d)."""
    heads = int(attrs["heads"])
    return scores(heads_first(queries, heads, 1, 0), heads_first(keys_values, heads, 2, 0))


def cross_attention_values(attrs: Attributes, keys_values: Array, attention: Array) -> Array:
    """Values of interleaved keys and values, weighted by attention (N * heads, T, S)."""
    heads = int(attrs["heads"])
    return attended(attention, heads_first(keys_values, heads, 2, 1), heads)


OPERATORS: Mapping[str, Reference] = {
    "FullyConnected": fully_connected,
    "_contrib_interleaved_matmul_encdec_qk": cross_attention_scores,
    "_contrib_interleaved_matmul_encdec_valatt": cross_attention_values,
    "_contrib_interleaved_matmul_selfatt_qk": self_attention_scores,
    "_contrib_interleaved_matmul_selfatt_valatt": self_attention_values,
    "_linalg_gemm": gemm,
    "_linalg_gemm2": gemm2,
    "_linalg_syrk": syrk,
    "batch_dot": batch_dot,
    "dot": dot,
}

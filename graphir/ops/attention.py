"""Attention and what stands beside it in language models: rotary positions, caches, recurrences, gates."""

from __future__ import annotations

import enum

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, unify_dim, unify_shape

from .base import Operand, Operator, normalize_axis, operator, refine, same_dtype, same_rank
from .dtypes import BOOL, FLOATS, INT64, NUMBERS, SINGLE_FLOATS, WITHOUT_2_BITS
from .steps import of_attention, of_causal, of_linear_attention
from .traits import COORDINATES, EXPONENTIALS, Rounding
from .work import Counted, Each


def _agree(what: str, *dims: Dim) -> Dim:
    """Return the size that all are. Raises ShapeError that says which size it is."""
    result: Dim = UNKNOWN
    for dim in dims:
        try:
            result = unify_dim(result, dim)
        except ShapeError:
            raise ShapeError(f"the {what} differ: {', '.join(map(str, dims))}") from None
    return result


def _split(hidden: Dim, heads: int, name: str) -> Dim:
    """Return the size of one head of a packed axis. Raises ShapeError."""
    if heads < 1 or (isinstance(hidden, int) and hidden % heads):
        raise ShapeError(f"{name} has {hidden} columns, which {heads} heads do not divide")
    return hidden // heads


def _heads(operand: TensorType, heads: int | None, name: str) -> Shape:
    """(batch, heads, length, head size) of a tensor of that shape or packed as (batch, length, heads * head size)."""
    shape = operand.shape
    if shape is None:
        return (UNKNOWN, UNKNOWN if heads is None else heads, UNKNOWN, UNKNOWN)
    if len(shape) == 4:
        return shape
    if len(shape) != 3:
        raise ShapeError(f"{name} has the shape {format_shape(shape)}, expected 3 or 4 axes")
    if heads is None:
        raise ShapeError(f"{name} has 3 axes, so that the number of its heads must be stated")
    return (shape[0], heads, shape[1], _split(shape[2], heads, name))


@operator
class Attention(Operator):
    """softmax(scale * Q K' + mask) V for each head: each query's mean of the values, weighted by matching keys.

    Q (N, q heads, q length, size), K (N, kv heads, kv length, size), V (N, kv heads, kv length, v size), or all packed
    as (N, length, heads * size) with `q_num_heads` and `kv_num_heads`; q heads are a multiple of kv heads, and share
    those. `attn_mask`, boolean (true: attend) or added, broadcasts to (N, q heads, q length, total length). Past keys
    and values stand before K and V. `nonpad_kv_seqlen` (N) is how many keys of each row count. `is_causal` hides the
    keys behind each query's own place, the window sizes those further away (-1: none). `scale` None is
    1 / sqrt(size); `softcap` c, unless 0, makes scores c * tanh(score / c). Results: Y like Q with v size, all keys and
    values so far, and the scores: 0 raw, 1 capped, 2 masked, 3 after softmax. Source: ONNX Attention-25.
    """

    inputs = ("Q", "K", "V", "attn_mask?", "past_key?", "past_value?", "nonpad_kv_seqlen?")
    outputs = ("Y", "present_key", "present_value", "qk_matmul_output")
    takes = (FLOATS, FLOATS, FLOATS, NUMBERS | BOOL, FLOATS, FLOATS, INT64)
    rounding, stays_wide = Rounding.PRODUCTS, EXPONENTIALS
    work = Counted(of_attention)
    q_num_heads: int | None = None
    kv_num_heads: int | None = None
    scale: float | None = None
    softcap: float = 0.0
    is_causal: bool = False
    left_window_size: int = -1
    right_window_size: int = -1
    softmax_precision: DType | None = None
    qk_matmul_output_mode: int = 0

    def infer(
        self,
        q: TensorType,
        k: TensorType,
        v: TensorType,
        mask: Operand = None,
        past_key: Operand = None,
        past_value: Operand = None,
        lengths: Operand = None,
    ) -> tuple[TensorType, ...]:
        dtype = same_dtype(q, k, past_key)
        batch, heads, length, total, sizes = self._dims(q, k, v, past_key, past_value)
        key_heads, size, value_size = sizes
        if isinstance(heads, int) and isinstance(key_heads, int) and (key_heads < 1 or heads % key_heads):
            raise ShapeError(f"{heads} heads of queries cannot share {key_heads} heads of keys")
        result: Shape | None = (batch, heads, length, value_size)
        if q.shape is None:
            result = None
        elif len(q.shape) == 3:
            result = (batch, length, heads * value_size)
        return (
            TensorType(dtype, result),
            TensorType(dtype, (batch, key_heads, total, size)),
            TensorType(same_dtype(v, past_value), (batch, key_heads, total, value_size)),
            TensorType(dtype, (batch, heads, length, total)),
        )

    def _dims(
        self, q: TensorType, k: TensorType, v: TensorType, past_key: Operand, past_value: Operand
    ) -> tuple[Dim, Dim, Dim, Dim, tuple[Dim, Dim, Dim]]:
        """Batch, q heads, q length, total length, and (kv heads, size, v size). Raises ShapeError."""
        queries, keys = _heads(q, self.q_num_heads, "Q"), _heads(k, self.kv_num_heads, "K")
        values = _heads(v, self.kv_num_heads, "V")
        before: Shape = (keys[0], keys[1], 0, keys[3])
        before_values: Shape = (values[0], values[1], 0, values[3])
        if past_key is not None:
            before = same_rank(past_key, 4, "past_key") or (UNKNOWN,) * 4
        if past_value is not None:
            before_values = same_rank(past_value, 4, "past_value") or (UNKNOWN,) * 4
        length = _agree("numbers of keys and values", keys[2], values[2])
        past = _agree("numbers of past keys and values", before[2], before_values[2])
        return (
            _agree("batch sizes of Q, K, V", queries[0], keys[0], values[0], before[0], before_values[0]),
            queries[1],
            queries[2],
            past + length,
            (
                _agree("numbers of heads of keys and values", keys[1], values[1], before[1], before_values[1]),
                _agree("head sizes of Q and K", queries[3], keys[3], before[3]),
                _agree("head sizes of values", values[3], before_values[3]),
            ),
        )

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        q, k, v, _, past_key, past_value = (*operands, *(None,) * 7)[:6]
        if q is None or k is None or v is None:
            return UNKNOWN
        *_, (_, size, value_size) = self._dims(q, k, v, past_key, past_value)
        return self.scores(operands) * (size + value_size)

    def scores(self, operands: tuple[Operand, ...]) -> Dim:
        """Return how many pairs of a query and a key there are."""
        q, k, v, _, past_key, past_value = (*operands, *(None,) * 7)[:6]
        assert q is not None
        assert k is not None
        assert v is not None
        batch, heads, length, total, _ = self._dims(q, k, v, past_key, past_value)
        return batch * heads * length * total


@operator
class RotaryEmbedding(Operator):
    """X with pairs of elements turned by angles that depend on the position, given as cosines and sines.

    X is (N, heads, length, size) or packed (N, length, heads * size) with `num_heads`. The first
    `rotary_embedding_dim` elements of a head (0: all) are turned; pairs are neighbours if `interleaved`, else halves
    apart. The caches are (N, length, size / 2), or with `position_ids` (N, length) a table (positions, size / 2).
    Source: ONNX RotaryEmbedding-23.
    """

    inputs = ("X", "cos_cache", "sin_cache", "position_ids?")
    takes = (SINGLE_FLOATS, SINGLE_FLOATS, SINGLE_FLOATS, INT64)
    rounding, stays_wide = Rounding.ROUNDS, COORDINATES
    work = Each(3)
    num_heads: int | None = None
    rotary_embedding_dim: int = 0
    interleaved: bool = False

    def infer(
        self, x: TensorType, cosines: TensorType, sines: TensorType, position_ids: Operand = None
    ) -> TensorType:
        dtype = same_dtype(x, cosines, sines)
        _heads(x, self.num_heads or None, "X")
        rank = 3 if position_ids is None else 2
        try:
            unify_shape(same_rank(cosines, rank, "cos_cache"), same_rank(sines, rank, "sin_cache"))
        except ShapeError as error:
            raise ShapeError(f"the caches: {error}") from None
        return TensorType(dtype, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands[:3], results[0])
        types = [refine(operands[0], results[0].shape, dtype)]
        return (*types, *(refine(operand, None, dtype) for operand in operands[1:3]), *operands[3:])


class WriteMode(enum.Enum):
    """Where TensorScatter writes beyond the end: nowhere (it must not come to that), or at the beginning again."""

    LINEAR = "linear"
    CIRCULAR = "circular"


@operator
class TensorScatter(Operator):
    """The cache with `update` written along `axis`, in each row from the place on that `write_indices` (N) states.

    Source: ONNX TensorScatter-24.
    """

    inputs = ("past_cache", "update", "write_indices?")
    takes = (WITHOUT_2_BITS, WITHOUT_2_BITS, INT64)
    outputs = ("present_cache",)
    rounding = Rounding.MOVES
    axis: int = -2
    mode: WriteMode = WriteMode.LINEAR

    def infer(self, cache: TensorType, update: TensorType, write_indices: Operand = None) -> TensorType:
        dtype = same_dtype(cache, update)
        if cache.shape is None or update.shape is None:
            return TensorType(dtype, cache.shape)
        index = normalize_axis(self.axis, len(cache.shape))
        if index == 0:
            raise ShapeError("axis 0 is that of the rows")
        shown = f"update {format_shape(update.shape)} does not fit into the cache {format_shape(cache.shape)}"
        if len(update.shape) != len(cache.shape):
            raise ShapeError(shown)
        try:
            unify_shape(cache.shape, (*update.shape[:index], UNKNOWN, *update.shape[index + 1 :]))
        except ShapeError:
            raise ShapeError(shown) from None
        whole, part = cache.shape[index], update.shape[index]
        if isinstance(whole, int) and isinstance(part, int) and part > whole:
            raise ShapeError(shown)
        return TensorType(dtype, cache.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands[:2], results[0])
        return (refine(operands[0], results[0].shape, dtype), refine(operands[1], None, dtype), *operands[2:])


class UpdateRule(enum.Enum):
    """How a linear attention's state changes with each key and value."""

    LINEAR = "linear"
    GATED = "gated"
    DELTA = "delta"
    GATED_DELTA = "gated_delta"


@operator
class LinearAttention(Operator):
    """Attention without softmax, by a state of fixed size that takes up one key and value after the other.

    Query (N, length, q heads * k size), key (N, length, kv heads * k size), value (N, length, kv heads * v size); the
    state is (N, kv heads, k size, v size), zeros if no past one is given. The gated rules need `decay`, the delta
    rules `beta`. `scale` 0 is 1 / sqrt(k size). `chunk_size` has no bearing on the result. Results: the attended values
    (N, length, q heads * v size) and the last state. Source: ONNX LinearAttention-27.
    """

    inputs = ("query", "key", "value", "past_state?", "decay?", "beta?")
    outputs = ("output", "present_state")
    takes = (SINGLE_FLOATS, SINGLE_FLOATS, SINGLE_FLOATS, SINGLE_FLOATS, SINGLE_FLOATS, SINGLE_FLOATS)
    rounding, stays_wide = Rounding.PRODUCTS, EXPONENTIALS
    work = Counted(of_linear_attention)
    q_num_heads: int
    kv_num_heads: int
    update_rule: UpdateRule = UpdateRule.GATED_DELTA
    scale: float = 0.0
    chunk_size: int = 64

    def check_attributes(self) -> None:
        self.demand(self.kv_num_heads >= 1, "kv_num_heads", "1 or more")
        fits = self.q_num_heads >= 1 and self.q_num_heads % self.kv_num_heads == 0
        self.demand(fits, "q_num_heads", f"a multiple of kv_num_heads ({self.kv_num_heads})")

    def infer(
        self,
        query: TensorType,
        key: TensorType,
        value: TensorType,
        past_state: Operand = None,
        decay: Operand = None,
        beta: Operand = None,
    ) -> tuple[TensorType, ...]:
        dtype = same_dtype(query, key, value, decay, beta)
        if decay is None and self.update_rule in (UpdateRule.GATED, UpdateRule.GATED_DELTA):
            raise ShapeError(f"the rule {self.update_rule.value} needs decay")
        if beta is None and self.update_rule in (UpdateRule.DELTA, UpdateRule.GATED_DELTA):
            raise ShapeError(f"the rule {self.update_rule.value} needs beta")
        shapes = [
            same_rank(operand, 3, name) or (UNKNOWN,) * 3
            for operand, name in ((query, "query"), (key, "key"), (value, "value"))
        ]
        batch = _agree("batch sizes of query, key, value", *(shape[0] for shape in shapes))
        length = _agree("lengths of query, key, value", *(shape[1] for shape in shapes))
        size = _agree(
            "head sizes of query and key",
            _split(shapes[0][2], self.q_num_heads, "query"),
            _split(shapes[1][2], self.kv_num_heads, "key"),
        )
        value_size = _split(shapes[2][2], self.kv_num_heads, "value")
        state: Shape | None = (batch, self.kv_num_heads, size, value_size)
        if past_state is not None:
            try:
                state = unify_shape(state, past_state.shape)
            except ShapeError as error:
                raise ShapeError(f"past_state: {error}") from None
        state_dtype = dtype if past_state is None else past_state.dtype
        return TensorType(dtype, (batch, length, self.q_num_heads * value_size)), TensorType(state_dtype, state)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        """For each place the product of key and value, where the rule corrects also that of key and state, and for each
        query that with the state."""
        query, state = operands[0], results[1].shape
        if query is None or query.shape is None or state is None:
            return UNKNOWN
        updates = 2 if self.update_rule in (UpdateRule.DELTA, UpdateRule.GATED_DELTA) else 1
        heads = updates * self.kv_num_heads + self.q_num_heads
        return query.shape[0] * query.shape[1] * state[2] * state[3] * heads


class ConvActivation(enum.Enum):
    """What a CausalConvWithState applies to its sums; `silu` and `swish` are the same."""

    NONE = "none"
    SILU = "silu"
    SWISH = "swish"


@operator
class CausalConvWithState(Operator):
    """Depthwise convolution of X (N, C, length), each place with the k - 1 before it, by the weight (C, 1, k).

    Before the first place stands `past_state` (N, C, k - 1), or zeros. `bias` is (C). Results: Y of X's shape, and
    the last k - 1 places of the state followed by X. Source: ONNX CausalConvWithState-27.
    """

    inputs = ("X", "weight", "bias?", "past_state?")
    outputs = ("Y", "present_state")
    takes = (SINGLE_FLOATS, SINGLE_FLOATS, SINGLE_FLOATS, SINGLE_FLOATS)
    rounding = Rounding.STATES
    work = Counted(of_causal)
    activation: ConvActivation = ConvActivation.NONE

    def infer(
        self, x: TensorType, weight: TensorType, bias: Operand = None, past_state: Operand = None
    ) -> tuple[TensorType, ...]:
        dtype = same_dtype(x, weight, bias, past_state)
        data, kernel = same_rank(x, 3, "X") or (UNKNOWN,) * 3, same_rank(weight, 3, "weight") or (UNKNOWN, 1, UNKNOWN)
        if isinstance(kernel[1], int) and kernel[1] != 1:
            raise ShapeError(f"weight has the shape {format_shape(weight.shape)}, expected (C, 1, k)")
        added = UNKNOWN if bias is None else (same_rank(bias, 1, "bias") or (UNKNOWN,))[0]
        channels = _agree("channels of X, weight and bias", data[1], kernel[0], added)
        state: Shape | None = (data[0], channels, kernel[2] - 1)
        if past_state is not None:
            try:
                state = unify_shape(state, past_state.shape)
            except ShapeError as error:
                raise ShapeError(f"past_state: {error}") from None
        return TensorType(dtype, (data[0], channels, data[2])), TensorType(dtype, state)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, weight, bias, past_state = (*operands, None, None)[:4]
        dtype = same_dtype(*operands, results[0])
        channels = UNKNOWN if results[0].shape is None else results[0].shape[1]
        types = (
            refine(x, results[0].shape, dtype),
            refine(weight, (channels, 1, UNKNOWN), dtype),
            refine(bias, (channels,), dtype),
            refine(past_state, results[1].shape, dtype),
        )
        return types[: len(operands)]

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        weight = operands[1]
        return UNKNOWN if weight is None or weight.shape is None else results[0].elements() * weight.shape[-1]


@operator
class SwiGLU(Operator):
    """A * sigmoid(alpha * A) * B, for operands of one shape. Source: ONNX SwiGLU-28."""

    inputs = ("A", "B")
    takes = (FLOATS, FLOATS)
    rounding = Rounding.ROUNDS
    work = Each(4)
    alpha: float = 1.0

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        return TensorType(same_dtype(a, b), unify_shape(a.shape, b.shape))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return tuple(refine(operand, results[0].shape, results[0].dtype) for operand in operands)


OPERATORS = (Attention, RotaryEmbedding, TensorScatter, LinearAttention, CausalConvWithState, SwiGLU)

"""Masks of every layer that takes, carries or hands them on: stated by calls, and made by Embedding and Masking.

Rows of `keras_cases`. 0 among the words is masked. What a mask changes shows in what comes behind:
means and recurrent layers, and of version 3 products and queries, which look at the masks that values carry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Build = Callable[[Any, Any], Any]
STEPS = 6


def _words(keras: Any, steps: int = STEPS) -> Any:
    return keras.Input((steps,), dtype="int32")


def _rows(layers: Any, words: Any) -> Any:
    return layers.Embedding(5, 4, mask_zero=True)(words)


def _behind(layers: Any, value: Any) -> Any:
    """What tells whether a value carries a mask, and which."""
    return layers.GlobalAveragePooling1D()(value)


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _with_heads(class_name: str, **options: Any) -> Build:
    """Attention with heads of version 3, each of whose masks is stated, alone and all together, or carried."""

    def build(keras: Any, layers: Any) -> Any:
        def make() -> Any:
            sizes = (2, 3) if class_name == "MultiHeadAttention" else (3, 4, 2)
            return getattr(layers, class_name)(*sizes, **options)

        query, value, key = keras.Input((5, 4)), keras.Input((STEPS, 4)), keras.Input((STEPS, 4))
        of_query, of_value, of_key, of_scores = (
            keras.Input(shape, dtype="bool") for shape in ((5,), (STEPS,), (STEPS,), (5, STEPS))
        )
        words, others = _words(keras, 5), _words(keras)
        rows, other_rows = _rows(layers, words), _rows(layers, others)
        found = [
            make()(query, value, query_mask=of_query), make()(query, value, value_mask=of_value),
            make()(query, value, key_mask=of_value), make()(query, value, key=key, key_mask=of_key),
            make()(query, value, attention_mask=of_scores), make()(query, value, use_causal_mask=True),
            make()(query, value, key, of_query, of_value, of_key, of_scores, use_causal_mask=True),
            make()(value=value, query=query, value_mask=of_value),
            *make()(query, value, value_mask=of_value, query_mask=of_query, return_attention_scores=True),
            make()(rows, other_rows, query_mask=of_query), make()(rows, other_rows, key),
        ]  # fmt: skip
        found.append(_behind(layers, make()(query, value, query_mask=of_query)))
        masks = [of_query, of_value, of_key, of_scores]
        return keras.Model([query, value, key, *masks, words, others], found)

    return build


def attention_masks(keras: Any, layers: Any) -> Any:
    """Attention and AdditiveAttention with masks of queries and values, stated or carried."""
    words, others = _words(keras, 5), _words(keras)
    query, value = keras.Input((5, 4)), keras.Input((STEPS, 4))
    masks = keras.Input((5,), dtype="bool"), keras.Input((STEPS,), dtype="bool")
    rows, other_rows = _rows(layers, words), _rows(layers, others)
    found: list[Any] = []
    for make in (layers.Attention, layers.AdditiveAttention):
        for call in ({}, {"use_causal_mask": True}, {"return_attention_scores": True}):
            for operands in ([rows, other_rows], [query, other_rows], [rows, value], [rows, other_rows, value]):
                results = _listed(make()(operands, **call))
                found += [*results, _behind(layers, results[0])]
            found += _listed(make(dropout=0.2)([query, value], mask=list(masks), **call))
    return keras.Model([words, others, query, value, *masks], found)


def masked_merges(keras: Any, layers: Any) -> Any:
    """What merging layers make of two masks, or of one, and hand on."""
    words, others, steps = _words(keras), _words(keras), keras.Input((STEPS, 4))
    rows, other_rows = _rows(layers, words), _rows(layers, others)
    pairs = ([rows, other_rows], [rows, steps], [steps, other_rows], [rows, steps, rows], [other_rows, rows, rows])
    found: list[Any] = []
    for name in ("Add", "Subtract", "Average", "Multiply", "Maximum", "Minimum"):
        for operands in pairs[:3] if name == "Subtract" else pairs:
            value = getattr(layers, name)()(operands)
            found += [value, _behind(layers, value)]
    for axis in (1, 2, -1):
        # version 2 cannot join a mask and none along the steps
        for operands in pairs[: 3 if axis != 1 or hasattr(keras, "ops") else 1]:
            found.append(_behind(layers, layers.Concatenate(axis=axis)(operands)))
    return keras.Model([words, others, steps], found)


def masked_recurrence(keras: Any, layers: Any) -> Any:
    """Masks that recurrent layers carry or are given, with and without states to begin with."""
    words, mask, state = _words(keras), keras.Input((STEPS,), dtype="bool"), keras.Input((3,))
    rows = _rows(layers, words)
    options: Sequence[Mapping[str, bool]] = (
        {}, {"return_sequences": True, "return_state": True}, {"go_backwards": True, "return_sequences": True},
        {"zero_output_for_mask": True, "return_sequences": True}, {"unroll": True},
    )  # fmt: skip
    found: list[Any] = []
    for make in (layers.LSTM, layers.GRU):
        begin = {"initial_state": [state, state] if make is layers.LSTM else state}
        for option in options if make is layers.GRU else options[:2]:
            for call in ({}, {"mask": mask}, begin, {"mask": mask, **begin}):
                found += _listed(make(3, **option)(rows, **call))
    for mode in ("concat", "ave", None):
        both = layers.Bidirectional(layers.GRU(3, return_sequences=True, return_state=True), merge_mode=mode)
        results = _listed(both(rows, mask=mask))
        found += [*results, *(_behind(layers, value) for value in results if len(value.shape) == 3)]
    return keras.Model([words, mask, state], found)


def masked_passing(keras: Any, layers: Any) -> Any:
    """Which layers hand a mask on, and which lose it."""
    words, others = _words(keras), _words(keras)
    rows, other_rows = _rows(layers, words), _rows(layers, others)
    made = [
        layers.Activation("relu"), layers.ActivityRegularization(), layers.BatchNormalization(), layers.Dense(4),
        layers.Dropout(0.2), layers.ELU(), layers.GaussianNoise(0.1), layers.LayerNormalization(), layers.LeakyReLU(),
        layers.PReLU(), layers.ReLU(), layers.SpatialDropout1D(0.1), layers.UnitNormalization(),
        layers.TimeDistributed(layers.Dense(4)), layers.TimeDistributed(layers.BatchNormalization()),
    ]  # fmt: skip
    if hasattr(keras, "ops"):  # version 2 refuses a mask for these
        made += [
            layers.Identity(), layers.Rescaling(2.0), layers.Normalization(mean=0.1, variance=2.0),
            layers.GroupNormalization(2), layers.RMSNormalization(), layers.Conv1D(4, 1), layers.Reshape((STEPS, 4)),
            layers.EinsumDense("abc,cd->abd", output_shape=(None, 4)), layers.Permute((1, 2)),
            layers.MaxPooling1D(1), layers.UpSampling1D(1), layers.SpectralNormalization(layers.Dense(4)),
        ]  # fmt: skip
    found: list[Any] = []
    for layer in made:
        value = layer(rows)
        found += [_behind(layers, value), layers.Multiply()([value, other_rows])]
        found.append(layers.MultiHeadAttention(2, 3)(value, other_rows))
    return keras.Model([words, others], found)


def masks_taken(keras: Any, layers: Any) -> Any:
    """Attention takes the masks from its operands in the order in which it runs; an encoder and a decoder."""
    words, others = _words(keras), _words(keras)
    rows, other_rows = _rows(layers, words), _rows(layers, others)
    first, second, third = (layers.MultiHeadAttention(2, 3) for _ in range(3))
    found = [first(rows, other_rows), second(rows, rows), third(other_rows, rows)]
    found += [first(second(layers.Dense(4)(rows), other_rows), other_rows), layers.Multiply()([rows, other_rows])]
    found += [layers.Multiply()([rows, found[0]]), layers.Maximum()([found[1], found[2]])]
    encoded = layers.LayerNormalization()(layers.Add()([rows, layers.MultiHeadAttention(2, 3)(rows, rows)]))
    decoded = layers.MultiHeadAttention(2, 3)(other_rows, other_rows, use_causal_mask=True)
    decoded = layers.LayerNormalization()(layers.Add()([other_rows, decoded]))
    decoded = layers.Add()([decoded, layers.MultiHeadAttention(2, 3, dropout=0.1)(decoded, encoded)])
    return keras.Model([words, others], [*found, _behind(layers, decoded), _behind(layers, encoded)])


def masked_operations(keras: Any, layers: Any) -> Any:
    """Operations of version 3 lose masks, but for what hands on the value itself."""
    words, others = _words(keras), _words(keras)
    rows, other_rows = _rows(layers, words), _rows(layers, others)
    values = [rows * 1.0, keras.ops.relu(rows), keras.ops.cast(rows, "float32"), keras.ops.stop_gradient(rows)]
    found: list[Any] = []
    for value in values:
        found += [layers.Multiply()([value, other_rows]), _behind(layers, value)]
        found.append(layers.MultiHeadAttention(2, 3)(value, other_rows))
    return keras.Model([words, others], found)


def masked_models(keras: Any, layers: Any) -> Any:
    """Models in a model whose values carry masks, or are given them, and that make masks themselves."""
    source, other, numbers = keras.Input((STEPS, 4)), keras.Input((STEPS, 4)), _words(keras)
    inner = keras.Model(source, layers.LSTM(4, return_sequences=True)(layers.Dense(4)(source)))
    pair = keras.Model([source, other], [layers.Add()([source, other]), layers.Multiply()([source, other])])
    chain = keras.Sequential([keras.Input((STEPS, 4)), layers.GRU(2, return_sequences=True), layers.Dropout(0.1)])
    embedding = keras.Model(numbers, layers.Dense(4)(_rows(layers, numbers)))
    words, others = _words(keras), _words(keras)
    mask, steps = keras.Input((STEPS,), dtype="bool"), keras.Input((STEPS, 4))
    rows, other_rows = _rows(layers, words), _rows(layers, others)
    values = [inner(rows), *pair([rows, other_rows]), *pair([rows, steps]), chain(rows), embedding(words)]
    values += [inner(rows, mask=mask), chain(steps, mask=mask), layers.Multiply()([embedding(others), other_rows])]
    return keras.Model([words, others, mask, steps], [*values, *(_behind(layers, value) for value in values)])


def masks_on_steps(keras: Any, layers: Any) -> Any:
    """Layers and models that look at masks, on each step of values with a mask (N, steps, steps of a sample)."""
    source, numbers = keras.Input((STEPS, 4)), _words(keras)
    inner = keras.Model(source, layers.LSTM(4)(layers.Dense(4)(source)))
    embedding = keras.Model(numbers, layers.LSTM(4)(_rows(layers, numbers)))
    words, steps = keras.Input((3, STEPS), dtype="int32"), keras.Input((STEPS, 4))
    rows = _rows(layers, words)
    masked = layers.Masking()(steps)
    found = [layers.TimeDistributed(held)(rows) for held in (layers.GRU(2), layers.GlobalAveragePooling1D(), inner)]
    flat = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.BatchNormalization()])
    found += [layers.TimeDistributed(embedding)(words), _behind(layers, layers.TimeDistributed(flat)(masked))]
    return keras.Model([words, steps], found)


def softmax_masks(keras: Any, layers: Any) -> Any:
    """Masks of a softmax and a mean that calls state."""
    source, mask, numbers = keras.Input((STEPS, 4)), keras.Input((STEPS, 4), dtype="bool"), keras.Input((STEPS, 4))
    steps = keras.Input((STEPS,), dtype="bool")
    found = [layers.Softmax()(source, mask=mask), layers.Softmax(axis=1)(source, mask=mask)]
    found.append(layers.GlobalAveragePooling1D()(source, mask=steps))
    if hasattr(keras, "ops"):
        found.append(layers.Softmax()(source, mask=numbers))
    return keras.Model([source, mask, steps, numbers][: len(found)], found)


def scales(keras: Any, layers: Any) -> Any:
    """The layers that networks of keras.applications bring along."""
    from keras.src.applications.convnext import LayerScale
    from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

    source = keras.Input((STEPS, 4))
    return keras.Model(source, CustomScaleLayer(0.17)([source, LayerScale(1e-6, 4)(layers.Dense(4)(source))]))


_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "": {}, "-dropout": {"dropout": 0.2}, "-window": {"sliding_window": 2}, "-gate": {"use_gate": True},
}  # fmt: skip
# Version 3's alone.
NEWER: Mapping[str, Build] = {
    **{f"heads-masks{suffix}": _with_heads("MultiHeadAttention", **more) for suffix, more in _OPTIONS.items()},
    **{f"grouped-masks{suffix}": _with_heads("GroupQueryAttention", **more) for suffix, more in _OPTIONS.items()},
    "operations-masks": masked_operations,
    "scales-of-applications": scales,
}
MASKS: Mapping[str, Build] = {
    **NEWER,
    **{
        f"carried-{function.__name__.replace('_', '-')}": function
        for function in (
            attention_masks, masked_merges, masked_models, masked_passing, masked_recurrence, masks_on_steps,
            masks_taken, softmax_masks,
        )
    },
}  # fmt: skip

__all__ = ["MASKS", "NEWER"]

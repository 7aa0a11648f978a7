"""Keras models of several layers: masks, states, models in models, operations. Rows of `keras_cases`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Build = Callable[[Any, Any], Any]


def _masked(make: Callable[[Any], Any]) -> Build:
    """Layers on words of which 0 is masked anywhere: at the front, in the middle, at the end, or everywhere."""

    def build(keras: Any, layers: Any) -> Any:
        words = keras.Input((7,), dtype="int32")
        return keras.Model(words, make(layers)(layers.Embedding(5, 4, mask_zero=True)(words)))

    return build


def _chain(*parts: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make(layers: Any) -> Any:
        made = [part(layers) for part in parts]

        def call(value: Any) -> Any:
            for layer in made:
                value = layer(value)
            return value

        return call

    return make


def masked_by_value(keras: Any, layers: Any) -> Any:
    """Steps of which every element is 0 are masked."""
    source = keras.Input((6, 4))
    return keras.Model(source, layers.LSTM(3, return_sequences=True)(layers.Masking()(source)))


def channels_first(keras: Any, layers: Any) -> Any:
    """Layers that Keras can run with channels first on a CPU."""
    source = keras.Input((3, 8, 9))
    value = layers.ZeroPadding2D(1, data_format="channels_first")(source)
    value = layers.BatchNormalization(axis=1)(value)
    value = layers.Cropping2D(((0, 1), (2, 0)), data_format="channels_first")(value)
    value = layers.UpSampling2D(2, data_format="channels_first")(value)
    pooled = layers.GlobalAveragePooling2D(data_format="channels_first")(value)
    return keras.Model(source, [layers.Flatten(data_format="channels_first")(value), pooled])


def masks_merged(keras: Any, layers: Any) -> Any:
    """Sums and joined channels of values with two masks, and of one with and one without."""
    words, others, steps = keras.Input((7,), dtype="int32"), keras.Input((7,), dtype="int32"), keras.Input((7, 4))
    one, other = (layers.Embedding(5, 4, mask_zero=True)(held) for held in (words, others))
    merged = [
        layers.Add()([one, other]), layers.Subtract()([one, steps]), layers.Average()([steps, other]),
        layers.Concatenate()([one, other]), layers.Concatenate()([steps, one]),
        layers.Concatenate(axis=1)([one, other]),
    ]  # fmt: skip
    return keras.Model([words, others, steps], [layers.GRU(2)(value) for value in merged])


def masked_softmax(keras: Any, layers: Any) -> Any:
    """A softmax with a mask that is computed, and hides whole rows."""
    source, other = keras.Input((4, 3)), keras.Input((4, 3))
    return keras.Model([source, other], layers.Softmax()(source, mask=other > 0.4))


def encoder_decoder(keras: Any, layers: Any) -> Any:
    """A decoder that begins with the encoder's states, and looks back by attention."""
    source, target = keras.Input((6, 4)), keras.Input((5, 3))
    outputs, *states = layers.LSTM(7, return_sequences=True, return_state=True)(source)
    decoded = layers.LSTM(7, return_sequences=True)(target, initial_state=states)
    context = layers.Attention()([decoded, outputs])
    joined = layers.Concatenate()([decoded, context])
    return keras.Model([source, target], layers.Dense(4, activation="softmax")(joined))


def bidirectional_begun(keras: Any, layers: Any) -> Any:
    """Both directions begin with states."""
    source = keras.Input((6, 4))
    states = [keras.Input((3,)) for _ in range(2)]
    return keras.Model([source, *states], layers.Bidirectional(layers.GRU(3))(source, initial_state=states))


def masked_begun(keras: Any, layers: Any) -> Any:
    """Words with masked steps, behind states to begin with, of which version 2 keeps the mask; the last states."""
    words = keras.Input((7,), dtype="int32")
    states = [keras.Input((3,)) for _ in range(4)]
    value = layers.Embedding(5, 4, mask_zero=True)(words)
    layer = layers.Bidirectional(layers.LSTM(3, return_sequences=True, return_state=True))
    return keras.Model([words, *states], layer(value, initial_state=states))


def transformer(keras: Any, layers: Any) -> Any:
    """A block of a transformer."""
    source = keras.Input((None, 8))
    found = layers.MultiHeadAttention(2, 3, value_dim=5)(source, source)
    value = layers.LayerNormalization()(layers.Add()([source, found]))
    wide = layers.Dense(8)(layers.Dense(16, activation="gelu")(value))
    value = layers.LayerNormalization()(layers.Add()([value, wide]))
    return keras.Model(source, layers.GlobalAveragePooling1D()(value))


def attention_scores(keras: Any, layers: Any) -> Any:
    """Cross attention with keys of their own and a causal mask, and its scores."""
    query, value, key = keras.Input((5, 4)), keras.Input((5, 6)), keras.Input((5, 3))
    layer = layers.MultiHeadAttention(3, 4, use_bias=False, output_shape=7)
    found, scores = layer(query, value, key=key, return_attention_scores=True, use_causal_mask=True)
    return keras.Model([query, value, key], [found, scores])


def nested(keras: Any, layers: Any) -> Any:
    """Models in models, one of them called twice, with batch normalization, whose weights are of two kinds."""
    inner_source = keras.Input((8, 9, 3))
    value = layers.BatchNormalization()(layers.Conv2D(4, 3)(inner_source))
    inner = keras.Model(inner_source, layers.BatchNormalization()(layers.Conv2D(4, 3)(value)), name="inner")
    head = keras.Sequential([keras.Input((4, 5, 4)), layers.Flatten(), layers.Dense(5), layers.BatchNormalization()])
    left, right = keras.Input((8, 9, 3)), keras.Input((8, 9, 3))
    return keras.Model([left, right], layers.Subtract()([head(inner(left)), head(inner(right))]))


def frozen(keras: Any, layers: Any) -> Any:
    """A model in a model that is not trained, as in transfer learning."""
    base = keras.Sequential(
        [keras.Input((6, 7, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.Conv2D(2, 2),
         layers.BatchNormalization(scale=False)], name="base",
    )  # fmt: skip
    base.trainable = False
    source = keras.Input((6, 7, 3))
    return keras.Model(source, layers.Dense(3)(layers.GlobalAveragePooling2D()(base(source))))


def model_on_steps(keras: Any, layers: Any) -> Any:
    """A model for images on each image of a film, of any number of images, then a recurrent layer."""
    inner = keras.Sequential(
        [keras.Input((8, 9, 3)), layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten()]
    )
    source = keras.Input((None, 8, 9, 3))
    return keras.Model(source, layers.LSTM(5)(layers.TimeDistributed(inner)(source)))


def operations(keras: Any, layers: Any) -> Any:
    """Arithmetic on values, which is recorded as operations."""
    source, other = keras.Input((6, 4)), keras.Input((6, 4))
    value = (source + other) * 2.0 - source / 3.0
    value = 1.0 - value**2.0
    return keras.Model([source, other], [value[:, 1:-1, 2], -value[:, ::2], value[:, -1]])


def named_outputs(keras: Any, layers: Any) -> Any:
    """Outputs by names."""
    source = keras.Input((4,), name="source")
    return keras.Model(source, {"zeta": layers.Dense(3, name="first")(source), "alpha": layers.Dense(2)(source)})


def objects_as_activations(keras: Any, layers: Any) -> Any:
    """Activations that are layers."""
    source = keras.Input((4,))
    value = layers.Dense(4, activation="swish")(source)
    return keras.Model(source, layers.Dense(3, activation=layers.LeakyReLU(0.15))(value))


def half_precision(keras: Any, layers: Any) -> Any:
    """Layers that compute in float16 with weights of float32, up to the last one."""
    source = keras.Input((8, 9, 3))
    half = {"dtype": "mixed_float16"}
    value = layers.Conv2D(4, 3, activation="swish", **half)(source)
    value = layers.BatchNormalization(**half)(value)
    value = layers.Average(**half)([layers.ReLU(0.7, **half)(value), layers.LeakyReLU(0.2, **half)(value)])
    value = layers.GRU(5, return_sequences=True, **half)(layers.Reshape((7, -1), **half)(value))
    value = layers.MultiHeadAttention(2, 3, **half)(layers.LayerNormalization(**half)(value), value)
    return keras.Model(source, layers.Dense(3, activation="softmax")(layers.GlobalAveragePooling1D(**half)(value)))


def classifier(keras: Any, layers: Any) -> Any:
    """Text: words of any number, two recurrent layers, one of them in both directions, as in many tutorials."""
    return keras.Sequential(
        [keras.Input((None,), dtype="int32"), layers.Embedding(6, 5, mask_zero=True),
         layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.Dropout(0.3), layers.LSTM(3),
         layers.Dense(2, activation="softmax")]
    )  # fmt: skip


NETWORKS: Mapping[str, Build] = {
    "masked-lstm": _masked(lambda k: k.LSTM(5)),
    "masked-lstm-sequences": _masked(lambda k: k.LSTM(5, return_sequences=True)),
    "masked-lstm-states": _masked(lambda k: k.LSTM(5, return_sequences=True, return_state=True, go_backwards=True)),
    "masked-gru": _masked(lambda k: k.GRU(5, go_backwards=True)),
    "masked-bidirectional": _masked(lambda k: k.Bidirectional(k.GRU(5))),
    "masked-bidirectional-sequences": _masked(lambda k: k.Bidirectional(k.LSTM(5, return_sequences=True))),
    "masked-simple-chain": _masked(_chain(
        lambda k: k.SimpleRNN(5, return_sequences=True), lambda k: k.Dense(3), lambda k: k.LSTM(2),
    )),
    "masked-stacked": _masked(lambda k: k.RNN([k.LSTMCell(5), k.GRUCell(3)])),
    "masked-average": _masked(lambda k: k.GlobalAveragePooling1D()),
    "masked-attention": _masked(lambda k: lambda x: k.MultiHeadAttention(2, 3)(x, x)),
    "masked-attention-dropped": _masked(lambda k: lambda x: k.MultiHeadAttention(2, 3, dropout=0.2)(x, x)),
    "masked-attention-scores": _masked(
        lambda k: lambda x: k.MultiHeadAttention(2, 3, value_dim=2)(x, x, return_attention_scores=True)
    ),
    "masked-softmax": masked_softmax,
    "masks-merged": masks_merged,
    "masked-products": _masked(lambda k: lambda x: k.Attention()([x, x])),
    "masked-time-distributed": _masked(_chain(lambda k: k.TimeDistributed(k.Dense(3)), lambda k: k.GRU(2))),
    **{
        function.__name__.replace("_", "-"): function
        for function in (
            attention_scores, bidirectional_begun, channels_first, classifier, encoder_decoder, frozen, half_precision,
            masked_begun, masked_by_value, model_on_steps, named_outputs, nested, objects_as_activations, operations,
            transformer,
        )
    },
}  # fmt: skip

"""Run as a program, with live Keras: write the models that test_keras.py reads into a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np


def sequential(keras: Any) -> Any:
    """The usual image classifier."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 9, 3)),
            layers.Conv2D(4, 3, strides=2, padding="same", bias_initializer="random_normal", name="z_first"),
            layers.BatchNormalization(gamma_initializer="random_normal", beta_initializer="random_normal"),
            layers.ReLU(6),
            layers.Conv2D(5, 2, dilation_rate=2, activation="relu", name="a_second"),
            layers.MaxPooling2D(2, strides=1, padding="same"),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(5, activation="softmax"),
        ]
    )


def functional(keras: Any) -> Any:
    """Two inputs, two outputs, a layer that is called twice, and most kinds of layers."""
    layers = keras.layers
    left, right = keras.Input((9, 11, 3)), keras.Input((9, 11, 3))
    pad = layers.ZeroPadding2D(((1, 2), (0, 3)))
    shared = layers.Conv2D(5, 3, strides=2, padding="same", activation="hard_sigmoid", name="shared")
    first = layers.SeparableConv2D(5, 3, strides=2, padding="same", activation="swish")(pad(left))
    second, third = shared(pad(right)), shared(layers.LeakyReLU(0.2)(pad(left)))
    joined = layers.Concatenate()(
        [first, layers.Multiply()([second, third]), layers.Average()([first, second, third]),
         layers.Subtract()([first, second]), layers.Maximum()([first, third])]
    )  # fmt: skip
    cut = layers.Cropping2D(((1, 0), (0, 2)))(joined)
    deep = layers.DepthwiseConv2D(3, depth_multiplier=2, activation="relu6")(cut)
    value = layers.Dense(7, activation="elu")(layers.BatchNormalization(scale=False)(deep))
    pooled = layers.AveragePooling2D(2, padding="same")(value)
    flat = layers.Dense(6, use_bias=False)(layers.Flatten()(layers.Permute((3, 1, 2))(pooled)))
    top = layers.Softmax()(layers.Reshape((2, 3))(flat))
    most = layers.GlobalMaxPooling2D(keepdims=True)(layers.Rescaling(2.0, 0.5)(value))
    return keras.Model([left, right], [top, most])


def unknown(keras: Any) -> Any:
    """Layers that cannot be read."""
    source = keras.Input((4, 5, 2))
    layers = keras.layers
    value = layers.ConvLSTM1D(3, 2, return_sequences=True)(source)
    return keras.Model(source, layers.UpSampling2D(2, interpolation="lanczos3")(layers.GaussianNoise(0.1)(value)))


def main() -> None:
    """Write everything, in both formats."""
    import keras

    folder = Path(sys.argv[1])
    keras.utils.set_random_seed(0)
    for build in (sequential, functional, unknown):
        model = build(keras)
        for variable in model.variables:
            if "moving_variance" in variable.path:
                variable.assign(np.linspace(0.5, 1.5, variable.shape[0]))
        for suffix in ("keras", "h5"):
            model.save(str(folder / f"{build.__name__}.{suffix}"))
    keras.applications.MobileNetV2(weights=None, input_shape=(64, 64, 3), classes=7).save(str(folder / "mobile.keras"))


if __name__ == "__main__":
    main()

"""Small Keras models, a row each, with the numbers that Keras computes of them.

Run as a program, with live Keras, it writes each as NAME.keras and NAME.h5 and NAME.npz (inputs by position, outputs):
    python -P keras_cases.py FOLDER MODULE [NAME ...]        MODULE is keras, or tf_keras for version 2
"""

from __future__ import annotations

import gc
import sys
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.tensorflow.keras_arithmetic import MODELS as ARITHMETIC
from tests.tensorflow.keras_masks import MASKS, NEWER
from tests.tensorflow.keras_networks import NETWORKS, Build


def _one(*shape: int | None, dtype: str = "float32") -> Callable[[Callable[[Any], Any]], Build]:
    """A model of one layer on a sample of that shape."""

    def of(make: Callable[[Any], Any]) -> Build:
        def build(keras: Any, layers: Any) -> Any:
            source = keras.Input(shape, dtype=dtype)
            return keras.Model(source, make(layers)(source))

        return build

    return of


def _two(*shapes: tuple[int | None, ...]) -> Callable[[Callable[[Any], Any]], Build]:
    """A model of one layer on a list of values."""

    def of(make: Callable[[Any], Any]) -> Build:
        def build(keras: Any, layers: Any) -> Any:
            sources = [keras.Input(shape) for shape in shapes]
            return keras.Model(sources, make(layers)(sources))

        return build

    return of


def _called(layer: str, *arguments: Any, **options: Any) -> Callable[[Any], Any]:
    """Makes the layer of this name."""
    return lambda layers: getattr(layers, layer)(*arguments, **options)


def _merged(mode: str | None) -> Callable[[Any], Any]:
    return lambda layers: layers.Bidirectional(layers.LSTM(5, return_sequences=True), merge_mode=mode)


LINE, IMAGE, VOLUME = _one(9, 3), _one(8, 9, 4), _one(6, 5, 7, 2)
ROW, STEPS, OPEN = _one(5), _one(6, 4), _one(None, 4)

LAYERS: Mapping[str, Build] = {
    # convolutions
    "conv1d-causal": LINE(lambda k: k.Conv1D(5, 3, padding="causal", dilation_rate=2, activation="gelu")),
    "conv1d-same": LINE(lambda k: k.Conv1D(5, 4, padding="same", strides=2)),
    "conv1d-groups": _one(9, 4)(lambda k: k.Conv1D(6, 3, groups=2, use_bias=False)),
    "conv2d-groups": IMAGE(lambda k: k.Conv2D(6, (3, 2), groups=2, strides=(2, 1), padding="same", activation="selu")),
    "conv3d": VOLUME(lambda k: k.Conv3D(3, (2, 3, 3), strides=(1, 2, 2), padding="same")),
    "conv1d-transpose": LINE(lambda k: k.Conv1DTranspose(4, 3, strides=2, padding="same")),
    "conv1d-transpose-valid": LINE(lambda k: k.Conv1DTranspose(4, 2, strides=3, activation="tanh")),
    "conv2d-transpose": IMAGE(lambda k: k.Conv2DTranspose(5, (3, 4), strides=(2, 3), padding="same")),
    "conv2d-transpose-valid": IMAGE(lambda k: k.Conv2DTranspose(5, (3, 2), strides=(2, 3), use_bias=False)),
    "conv2d-transpose-extra": IMAGE(
        lambda k: k.Conv2DTranspose(5, 3, strides=2, padding="same", output_padding=(1, 0))
    ),
    "conv2d-transpose-extra-valid": IMAGE(lambda k: k.Conv2DTranspose(5, 3, strides=2, output_padding=1)),
    "conv3d-transpose": VOLUME(lambda k: k.Conv3DTranspose(3, 3, strides=2, padding="same")),
    "depthwise-conv1d": LINE(lambda k: k.DepthwiseConv1D(3, depth_multiplier=2, padding="same", activation="relu")),
    "depthwise-conv2d": IMAGE(lambda k: k.DepthwiseConv2D(3, strides=2, depth_multiplier=2, padding="same")),
    "separable-conv1d": LINE(lambda k: k.SeparableConv1D(5, 3, strides=2, depth_multiplier=2, padding="same")),
    "separable-conv2d": IMAGE(lambda k: k.SeparableConv2D(5, (3, 2), padding="valid", use_bias=False)),
    # pooling
    "max-pooling1d": LINE(lambda k: k.MaxPooling1D(3, strides=2, padding="same")),
    "average-pooling1d": LINE(lambda k: k.AveragePooling1D(2, padding="same")),
    "max-pooling2d": IMAGE(lambda k: k.MaxPooling2D((3, 2), strides=(2, 1), padding="same")),
    "average-pooling2d": IMAGE(lambda k: k.AveragePooling2D(3, strides=2, padding="same")),
    "max-pooling3d": VOLUME(lambda k: k.MaxPooling3D((2, 1, 3), padding="same")),
    "average-pooling3d": VOLUME(lambda k: k.AveragePooling3D(2, strides=1)),
    **{
        f"global-{kind.lower()}-pooling{axes}d{'-keepdims' * keep}": row(
            _called(f"Global{kind}Pooling{axes}D", keepdims=bool(keep))
        )
        for kind in ("Max", "Average")
        for axes, row in ((1, LINE), (2, IMAGE), (3, VOLUME))
        for keep in (0, 1)
    },
    # borders and sizes
    "zero-padding1d": LINE(lambda k: k.ZeroPadding1D((2, 1))),
    "zero-padding3d": VOLUME(lambda k: k.ZeroPadding3D(((1, 0), (0, 2), (1, 1)))),
    "zero-padding2d-int": IMAGE(lambda k: k.ZeroPadding2D((1, 2))),
    "cropping1d": LINE(lambda k: k.Cropping1D((1, 2))),
    "cropping1d-none": LINE(lambda k: k.Cropping1D((0, 2))),
    "cropping2d": IMAGE(lambda k: k.Cropping2D(((1, 0), (0, 2)))),
    "cropping3d": VOLUME(lambda k: k.Cropping3D(((1, 0), (0, 2), (2, 1)))),
    "up-sampling1d": LINE(lambda k: k.UpSampling1D(3)),
    "up-sampling2d": IMAGE(lambda k: k.UpSampling2D((2, 3))),
    "up-sampling2d-bilinear": IMAGE(lambda k: k.UpSampling2D((2, 3), interpolation="bilinear")),
    "up-sampling3d": VOLUME(lambda k: k.UpSampling3D((2, 1, 3))),
    "resizing": IMAGE(lambda k: k.Resizing(5, 13)),
    "resizing-nearest": IMAGE(lambda k: k.Resizing(11, 5, interpolation="nearest")),
    "center-crop": IMAGE(lambda k: k.CenterCrop(5, 4)),
    # activations
    **{
        f"activation-{name}": ROW(_called("Activation", name))
        for name in (
            "elu", "exponential", "gelu", "hard_sigmoid", "leaky_relu", "linear", "log_softmax", "mish", "relu",
            "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign", "swish", "tanh",
        )
    },
    "dense-on-steps": STEPS(lambda k: k.Dense(3, activation="tanh")),
    "elu": ROW(lambda k: k.ELU(0.7)),
    "leaky-relu": ROW(lambda k: k.LeakyReLU()),
    "prelu": STEPS(lambda k: k.PReLU()),
    "prelu-shared": IMAGE(lambda k: k.PReLU(shared_axes=[1, 2])),
    "relu-max": ROW(lambda k: k.ReLU(max_value=0.5)),
    "relu-sloped": ROW(lambda k: k.ReLU(max_value=0.7, negative_slope=0.3)),
    "relu-threshold": ROW(lambda k: k.ReLU(negative_slope=0.1, threshold=0.4)),
    "thresholded-relu": ROW(lambda k: k.ThresholdedReLU(0.4)),
    "softmax-axis": STEPS(lambda k: k.Softmax(axis=1)),
    # normalizations
    "batch-normalization": STEPS(lambda k: k.BatchNormalization(epsilon=0.1)),
    "batch-normalization-axis": IMAGE(lambda k: k.BatchNormalization(axis=1, center=False)),
    "batch-normalization-plain": ROW(lambda k: k.BatchNormalization(scale=False, center=False)),
    "layer-normalization": STEPS(lambda k: k.LayerNormalization(epsilon=0.01)),
    "layer-normalization-axes": IMAGE(lambda k: k.LayerNormalization(axis=[2, 3], scale=False)),
    "layer-normalization-axis": STEPS(lambda k: k.LayerNormalization(axis=1, center=False)),
    "group-normalization": IMAGE(lambda k: k.GroupNormalization(groups=2)),
    "group-normalization-instance": IMAGE(lambda k: k.GroupNormalization(groups=-1, scale=False)),
    "group-normalization-axis": IMAGE(lambda k: k.GroupNormalization(groups=4, axis=1, center=False)),
    "unit-normalization": STEPS(lambda k: k.UnitNormalization()),
    "unit-normalization-axis": STEPS(lambda k: k.UnitNormalization(axis=1)),
    "rms-normalization": STEPS(lambda k: k.RMSNormalization(epsilon=0.01)),
    "spectral-normalization": ROW(lambda k: k.SpectralNormalization(k.Dense(3))),
    "normalization": STEPS(lambda k: k.Normalization(axis=1)),
    "normalization-of-all": STEPS(lambda k: k.Normalization(axis=None)),
    "normalization-of-two": STEPS(lambda k: k.Normalization(axis=(1, 2))),
    "normalization-all-stated": STEPS(lambda k: k.Normalization(axis=None, mean=0.3, variance=2.0, invert=True)),
    "normalization-stated": ROW(lambda k: k.Normalization(mean=0.3, variance=2.0)),
    "rescaling": ROW(lambda k: k.Rescaling(0.5, offset=-1.0)),
    # shapes
    "flatten": IMAGE(lambda k: k.Flatten()),
    "reshape": STEPS(lambda k: k.Reshape((8, -1))),
    "permute": IMAGE(lambda k: k.Permute((3, 1, 2))),
    "repeat-vector": ROW(lambda k: k.RepeatVector(3)),
    # merging
    **{
        name.lower(): _two((5, 4), (5, 4))(_called(name))
        for name in ("Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract")
    },
    "add-of-different-ranks": _two((5, 4), (4,))(lambda k: k.Add()),
    "concatenate": _two((5, 4), (3, 4))(lambda k: k.Concatenate(axis=1)),
    "dot": _two((5, 4), (3, 4))(lambda k: k.Dot(axes=2)),
    "dot-axes": _two((5, 4), (3, 5))(lambda k: k.Dot(axes=(1, 2), normalize=True)),
    "dot-vectors": _two((4,), (4,))(lambda k: k.Dot(axes=1, normalize=True)),
    "dot-vector-matrix": _two((4,), (3, 4))(lambda k: k.Dot(axes=(1, 2))),
    # what does nothing at inference
    **{
        name.lower(): STEPS(_called(name, 0.3))
        for name in ("AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D")
    },
    "spatial-dropout2d": IMAGE(lambda k: k.SpatialDropout2D(0.3)),
    "spatial-dropout3d": VOLUME(lambda k: k.SpatialDropout3D(0.3)),
    **{
        f"random-{name.lower()}": IMAGE(_called(f"Random{name}", 0.2))
        for name in ("Brightness", "Contrast", "Rotation", "Zoom")
    },
    "random-flip": IMAGE(lambda k: k.RandomFlip("horizontal")),
    "random-translation": IMAGE(lambda k: k.RandomTranslation(0.1, 0.2)),
    "activity-regularization": ROW(lambda k: k.ActivityRegularization(0.1)),
    "identity": ROW(lambda k: k.Identity()),
    # others
    "embedding": _one(6, dtype="int32")(lambda k: k.Embedding(5, 3)),
    "discretization": ROW(lambda k: k.Discretization(bin_boundaries=[-0.5, 0.1, 0.6])),
    "einsum-dense": STEPS(
        lambda k: k.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d", activation="relu")
    ),
    "masking": STEPS(lambda k: k.Masking(0.0)),
    "time-distributed": _one(3, 8, 9, 2)(lambda k: k.TimeDistributed(k.Conv2D(3, 3, strides=2))),
    "time-distributed-dense": STEPS(lambda k: k.TimeDistributed(k.Dense(3, activation="softmax"))),
    "time-distributed-lstm": _one(3, 5, 2)(lambda k: k.TimeDistributed(k.LSTM(4))),
    # recurrent
    "lstm": STEPS(lambda k: k.LSTM(5)),
    "lstm-open-steps": OPEN(lambda k: k.LSTM(5, return_sequences=True)),
    "lstm-no-bias": STEPS(lambda k: k.LSTM(5, use_bias=False, return_sequences=True, go_backwards=True)),
    "lstm-backwards": STEPS(lambda k: k.LSTM(5, go_backwards=True)),
    "lstm-activations": STEPS(lambda k: k.LSTM(5, activation="relu", recurrent_activation="hard_sigmoid")),
    "lstm-linear": STEPS(lambda k: k.LSTM(5, activation="linear", recurrent_activation="softsign")),
    "lstm-states": STEPS(lambda k: k.LSTM(5, return_sequences=True, return_state=True)),
    "lstm-unrolled": STEPS(lambda k: k.LSTM(5, unroll=True)),
    "gru": STEPS(lambda k: k.GRU(5, return_sequences=True)),
    "gru-before": STEPS(lambda k: k.GRU(5, reset_after=False, return_state=True)),
    "gru-activations": STEPS(lambda k: k.GRU(5, activation="elu", recurrent_activation="hard_sigmoid", use_bias=False)),
    "gru-backwards": OPEN(lambda k: k.GRU(5, go_backwards=True, return_sequences=True)),
    "simple-rnn": STEPS(lambda k: k.SimpleRNN(5)),
    "simple-rnn-relu": STEPS(lambda k: k.SimpleRNN(5, activation="relu", return_sequences=True, return_state=True)),
    "rnn-cell": STEPS(lambda k: k.RNN(k.GRUCell(5), return_sequences=True)),
    "rnn-cell-simple": STEPS(lambda k: k.RNN(k.SimpleRNNCell(5, activation="softplus"))),
    "rnn-stacked": STEPS(lambda k: k.RNN([k.LSTMCell(5), k.GRUCell(3), k.LSTMCell(2)])),
    "rnn-stacked-backwards": STEPS(
        lambda k: k.RNN(k.StackedRNNCells([k.LSTMCell(5), k.LSTMCell(3)]), return_sequences=True, go_backwards=True)
    ),
    "bidirectional": STEPS(lambda k: k.Bidirectional(k.LSTM(5))),
    "bidirectional-sequences": OPEN(lambda k: k.Bidirectional(k.GRU(5, return_sequences=True))),
    **{
        f"bidirectional-{mode}": STEPS(_merged(mode))
        for mode in ("sum", "mul", "ave", None)
    },
    "bidirectional-states": STEPS(lambda k: k.Bidirectional(k.LSTM(5, return_state=True))),
    "bidirectional-different": STEPS(
        lambda k: k.Bidirectional(
            k.LSTM(5, return_sequences=True), backward_layer=k.GRU(3, return_sequences=True, go_backwards=True)
        )
    ),
    "bidirectional-backwards": STEPS(
        lambda k: k.Bidirectional(
            k.SimpleRNN(5, return_sequences=True, go_backwards=True),
            backward_layer=k.SimpleRNN(5, return_sequences=True),
        )
    ),
    # attention
    "attention": _two((5, 4), (3, 4))(lambda k: k.Attention(use_scale=True)),
    "attention-keys": _two((5, 4), (3, 6), (3, 4))(lambda k: k.Attention()),
    "additive-attention": _two((5, 4), (3, 4))(lambda k: k.AdditiveAttention()),
}  # fmt: skip


MODELS: Mapping[str, Build] = {**LAYERS, **NETWORKS, **MASKS, **ARITHMETIC}
# Layers that one version alone has.
ONLY = {
    "keras": {"rms-normalization", "spectral-normalization", *NEWER},  # version 2.21 cannot build the second
    "tf_keras": {"random-brightness", "thresholded-relu"},  # version 3.15 cannot write the first as HDF5
}


def names_of(module: str) -> list[str]:
    """The models that a version can make."""
    lacking = {name for other, names in ONLY.items() if other != module for name in names}
    return [name for name in MODELS if name not in lacking]


def feeds(name: str, model: Any) -> list[Any]:
    """Inputs: three samples; words are 0 at other places in each, in the last everywhere."""
    random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    found: list[NDArray[Any]] = []
    for held in model.inputs:
        shape = [size or (3 if place == 0 else 6) for place, size in enumerate(held.shape)]
        dtype = str(getattr(held.dtype, "name", held.dtype))
        if "int" in dtype:
            words = random.integers(1, 5, shape).astype(np.int32)
            words[0, ..., 4:], words[1, ..., :2], words[1, ..., 3], words[2] = 0, 0, 0, 0
            found.append(words)
        elif "bool" in dtype:
            found.append(random.random(shape) > 0.4)
            found[-1][2] = False
        else:
            value = random.standard_normal(shape).astype(np.float32)
            if name.startswith("mask"):
                value[0, 4:], value[1, :2] = 0, 0
            found.append(value)
    return found


def draw(random: np.random.Generator, variable: Any) -> Any:
    """Elements of a weight; variances are positive."""
    path = getattr(variable, "path", variable.name)
    shape = tuple(variable.shape)
    if "variance" in path:
        return random.uniform(0.5, 1.5, shape)
    return random.standard_normal(shape) * 0.5


def compute(model: Any, held: list[Any]) -> tuple[list[Any], list[str]]:
    """The outputs, and their names if they have any."""
    found = model(held if len(held) > 1 else held[0], training=False)
    if isinstance(found, dict):
        return [np.asarray(value) for value in found.values()], list(found)
    return [np.asarray(value) for value in (found if isinstance(found, (list, tuple)) else [found])], []


def write(folder: Path, name: str, model: Any) -> None:
    """The model in both formats, with random weights, and what it computes."""
    random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode()) + 1))
    for variable in model.weights:
        if variable.shape and "float" in str(getattr(variable.dtype, "name", variable.dtype)):
            variable.assign(draw(random, variable))
    for layer in model.layers:  # what is learned by `adapt` counts from here on
        getattr(layer, "finalize_state", lambda: None)()
    for suffix in ("keras", "h5"):
        model.save(str(folder / f"{name}.{suffix}"))
    held = feeds(name, model)
    outputs, keys = compute(model, held)
    arrays = {f"in{place}": value for place, value in enumerate(held)}
    arrays |= {f"out{place}": value for place, value in enumerate(outputs)}
    np.savez(folder / f"{name}.npz", keys=np.array(keys, dtype=str), **arrays)


def leave_out_gpu() -> None:
    """Version 2 traces each LSTM and GRU a second time for a GPU, with its gradients: most of the time, for nothing."""
    utilities: Any = import_module("tf_keras.src.layers.rnn.gru_lstm_utils")
    utilities.function_register = lambda *_, **__: None


def main() -> None:
    """Write the models of these names, without names everything that the version has."""
    folder, module = Path(sys.argv[1]), sys.argv[2]
    keras = import_module(module)
    if module == "tf_keras":
        leave_out_gpu()
    gc.freeze()  # clearing a session looks for garbage, in all of TensorFlow, which takes longer than a model does
    for name in sys.argv[3:] or names_of(module):
        keras.backend.clear_session()
        write(folder, name, MODELS[name](keras, keras.layers))


if __name__ == "__main__":
    main()

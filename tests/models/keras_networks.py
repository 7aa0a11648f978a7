"""Networks of keras.applications with seeded weights, as frozen graphs."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.layers import seeded

Array = np.ndarray


def keras_model(keras: ModuleType, name: str, size: int, *, top: bool = True) -> Any:
    """The network with seeded weights; without its top it gives pooled features, which no softmax saturates."""
    keras.backend.clear_session()
    shape = {"include_top": True, "classes": 1000} if top else {"include_top": False, "pooling": "avg"}
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), **shape)
    weights = seeded(1)
    for variable in model.variables:
        if not variable.path.endswith(("/count", "seed_generator_state")):
            variable.assign(weights(variable.path, tuple(variable.shape)))
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()
    return model


def frozen(model: Any, size: int) -> bytes:
    """The network's GraphDef, its variables made constants; the input is called `input`."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    signature = tf.TensorSpec((1, size, size, 3), tf.float32, name="input")
    function = tf.function(lambda image: model(image, training=False)).get_concrete_function(signature)
    return convert_variables_to_constants_v2(function).graph.as_graph_def().SerializeToString()


def image(size: int, seed: int = 3) -> NDArray[Any]:
    """One image, channels last."""
    return np.random.default_rng(seed).uniform(-1, 1, (1, size, size, 3)).astype(np.float32)

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
    """The network's GraphDef, its variables made constants; the input is called `input`.

    These are the two steps of `convert_variables_to_constants_v2` that give the graph. A third makes it a function
    again, which nobody here calls, and takes four fifths of the time.
    """
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    signature = tf.TensorSpec((1, size, size, 3), tf.float32, name="input")
    function = tf.function(lambda image: model(image, training=False)).get_concrete_function(signature)
    held = convert_to_constants._FunctionConverterDataInEager(
        func=function, lower_control_flow=True, aggressive_inlining=False
    )
    graph, _ = convert_to_constants._replace_variables_by_constants(held)
    outputs = [output.op.name for output in function.outputs]
    return tf.compat.v1.graph_util.extract_sub_graph(graph, outputs).SerializeToString()


def image(size: int, seed: int = 3) -> NDArray[Any]:
    """One image, channels last."""
    return np.random.default_rng(seed).uniform(-1, 1, (1, size, size, 3)).astype(np.float32)

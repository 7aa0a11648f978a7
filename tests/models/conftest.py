"""Live Keras."""

from __future__ import annotations

import gc
import os
from types import ModuleType

import pytest

from tests.requirements import missing


@pytest.fixture(scope="session")
def keras() -> ModuleType:
    """Live Keras over TensorFlow."""
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    try:
        import tensorflow as tf
    except ImportError as error:
        missing("TensorFlow", f"live TensorFlow cannot be imported: {error}")
    keras: ModuleType = tf.keras
    keras.Model  # noqa: B018  it is imported when it is first asked for
    gc.freeze()  # clearing a session looks for garbage, in all of TensorFlow
    return keras

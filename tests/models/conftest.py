"""The scripts of this folder import each other by bare name, as programs do; live Keras."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.requirements import missing

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def keras() -> ModuleType:
    """Live Keras over TensorFlow."""
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    try:
        import tensorflow as tf
    except ImportError as error:
        missing("TensorFlow", f"live TensorFlow cannot be imported: {error}")
    return tf.keras

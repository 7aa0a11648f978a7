"""A small network as `keras.Model.save` of Keras 3 writes it, without Keras: two convolutions of stride 2 with SAME
padding, what TensorFlow calls a stem, with seeded weights.

    python -m models.keras_stem stem.keras
"""

from __future__ import annotations

import argparse
import io
import json
import os
import zipfile
from typing import Any

from models.layers import seeded

VERSION = "3.15.0"
SIZE, CLASSES = 32, 10

# Kind, folder of the weights, settings, and the weights by name.
LAYERS: tuple[tuple[str, str, dict[str, Any], dict[str, tuple[int, ...]]], ...] = (
    ("Conv2D", "conv2d",
     {"name": "stem", "filters": 8, "kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "activation": "relu"},
     {"kernel": (3, 3, 3, 8), "bias": (8,)}),
    ("Conv2D", "conv2d_1",
     {"name": "body", "filters": 16, "kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "activation": "relu"},
     {"kernel": (3, 3, 8, 16), "bias": (16,)}),
    ("GlobalAveragePooling2D", "global_average_pooling2d", {"name": "mean", "keepdims": False}, {}),
    ("Dense", "dense", {"name": "top", "units": CLASSES, "activation": "softmax"},
     {"kernel": (16, CLASSES), "bias": (CLASSES,)}),
)  # fmt: skip
OF_CONV = {"data_format": "channels_last", "dilation_rate": [1, 1], "groups": 1, "use_bias": True}
MORE: dict[str, dict[str, Any]] = {
    "Conv2D": OF_CONV, "GlobalAveragePooling2D": {"data_format": "channels_last"}, "Dense": {"use_bias": True},
}  # fmt: skip


def save(path: str | os.PathLike[str]) -> None:
    """Write the network as a `.keras` archive: from `image` (N, 32, 32, 3) to ten probabilities. Needs h5py."""
    source: dict[str, Any] = {"name": "image", "batch_shape": [None, SIZE, SIZE, 3], "dtype": "float32"}
    entries = [("InputLayer", source)]
    entries += [(kind, {**MORE[kind], **config, "dtype": "float32"}) for kind, _, config, _ in LAYERS]
    listed = [
        {"module": "keras.layers", "class_name": kind, "config": config, "registered_name": None}
        for kind, config in entries
    ]
    members: dict[str, str | bytes] = {
        "metadata.json": json.dumps({"keras_version": VERSION}),
        "config.json": json.dumps({"class_name": "Sequential", "config": {"name": "network", "layers": listed}}),
        "model.weights.h5": _weights(),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)


def _weights() -> bytes:
    import h5py

    buffer, draw = io.BytesIO(), seeded()
    with h5py.File(buffer, "w") as file:
        for _, folder, config, shapes in LAYERS:
            held = file.create_group(f"layers/{folder}/vars")
            for slot, (name, shape) in enumerate(shapes.items()):
                held.create_dataset(str(slot), data=draw(f"{config['name']}/{name}", shape))
    return buffer.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A small network as Keras 3 writes it, without Keras.")
    parser.add_argument("path", metavar="PATH", help="the .keras file to write")
    save(parser.parse_args().path)

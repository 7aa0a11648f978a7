"""`mx.gluon.model_zoo.model_store`: weights that lie on the disk."""

from __future__ import annotations

import os
from pathlib import Path

from graphir.converters.mxnet.mx.base import MXNetError, data_dir


def get_model_file(name: str, root: str = os.path.join("~", ".mxnet", "models")) -> str:
    """Return the file of a network's weights in a folder: NAME.params, or NAME-HASH.params as MXNet writes it.

    Raises MXNetError if there is none: nothing is downloaded.
    """
    folder = Path(root).expanduser()
    files = [folder / f"{name}.params", *sorted(folder.glob(f"{name}-????????.params"))]
    path = next((path for path in files if path.is_file()), None)
    if path is None:
        raise MXNetError(
            f"the weights of {name} are not here, and nothing is downloaded: put them into {folder / name}.params, "
            "or make the network with pretrained=False and call load_parameters"
        )
    return str(path)


def default_root() -> str:
    """Return the folder in which MXNet keeps weights."""
    return os.path.join(data_dir(), "models")


__all__ = ["default_root", "get_model_file"]

"""Broken models, each made from the digits checkpoint by one small change."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.mxnet import read_params, write_params

DIGITS = Path(__file__).resolve().parents[2] / "models" / "digits"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 104857600\n"
HTML = b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n"

Build = Callable[[Path], None]


def intact(folder: Path) -> Path:
    """A copy of the checkpoint; its prefix."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DIGITS / "digits-symbol.json", folder / "m-symbol.json")
    shutil.copy(DIGITS / "digits-0020.params", folder / "m-0000.params")
    return folder / "m"


def params(change: Callable[[bytes], bytes]) -> Build:
    """A change of the .params file's bytes."""

    def build(folder: Path) -> None:
        path = folder / "m-0000.params"
        path.write_bytes(change(path.read_bytes()))

    return build


def symbol_bytes(change: Callable[[bytes], bytes]) -> Build:
    """A change of the symbol file's bytes."""

    def build(folder: Path) -> None:
        path = folder / "m-symbol.json"
        path.write_bytes(change(path.read_bytes()))

    return build


def symbol(change: Callable[[dict[str, Any]], None]) -> Build:
    """A change of the symbol's JSON."""

    def build(folder: Path) -> None:
        path = folder / "m-symbol.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return build


def arrays(change: Callable[[dict[str, Any]], None]) -> Build:
    """A change of the parameters."""

    def build(folder: Path) -> None:
        path = folder / "m-0000.params"
        held = {name: np.array(tensor.numpy()) for name, tensor in read_params(path).items()}
        change(held)
        write_params(path, held)

    return build


def node(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The node of that name."""
    found: dict[str, Any] = next(entry for entry in document["nodes"] if entry["name"] == name)
    return found


def make_cycle(document: dict[str, Any]) -> None:
    """conv1 reads what the whole network gives."""
    last = len(document["nodes"]) - 1
    node(document, "conv1")["inputs"][0] = [last, 0, 0]


def make_dangling(document: dict[str, Any]) -> None:
    """conv1 reads a node that does not exist."""
    node(document, "conv1")["inputs"][0] = [4711, 0, 0]


def state(name: str, **attributes: str) -> Callable[[dict[str, Any]], None]:
    """A node states these attributes."""

    def change(document: dict[str, Any]) -> None:
        node(document, name).setdefault("attrs", {}).update(attributes)

    return change


def drop_weight(document: dict[str, Any]) -> None:
    """conv1 has no weight."""
    del node(document, "conv1")["inputs"][1:]


def rename_operators(document: dict[str, Any]) -> None:
    """Two kinds of operators that nobody knows, one of them twice."""
    node(document, "tanh1")["op"] = "_npx_mystery"
    node(document, "relu2")["op"] = "_npx_mystery"
    node(document, "fc1")["op"] = "HomeMade"


def drop_arrays(held: dict[str, Any]) -> None:
    """Two parameters are missing."""
    del held["arg:fc1_weight"], held["aux:bn2_moving_var"]


def reshape_arrays(held: dict[str, Any]) -> None:
    """Two parameters contradict the symbol."""
    held["arg:conv1_weight"] = np.zeros((16, 1, 5, 4), np.float32)
    held["arg:fc2_weight"] = np.zeros((10, 47), np.float32)


def huge_dimension(data: bytes) -> bytes:
    """The first array's first dimension is 2**62."""
    first = data.index(struct.pack("<4q", 16, 1, 3, 3))
    return data[:first] + struct.pack("<q", 1 << 62) + data[first + 8 :]


def huge_count(data: bytes) -> bytes:
    """The list claims 2**60 arrays."""
    return data[:16] + struct.pack("<Q", 1 << 60) + data[24:]

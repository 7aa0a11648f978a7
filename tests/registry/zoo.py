"""Small registries of our own making, and the plugin whose operators hang, eat memory and end their process."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.mxnet import write_params

DIGITS = Path(__file__).resolve().parents[2] / "models" / "digits"
# What a custom operator does when it is imported, by its op_type.
HAZARDS = '''
import ctypes, os, signal, time

def hang(node):
    time.sleep(600)

def eat(node):
    held = []
    while True:
        held.append(bytearray(1 << 26))

def kill(node):
    os.kill(os.getpid(), signal.SIGKILL)

def leave(node):
    os._exit(3)

def crash(node):
    ctypes.string_at(0)

def late(node):
    time.sleep(0.3)
    return same(node)

def same(node):
    return node.inputs[0]

def register(registry):
    for function in (hang, eat, kill, leave, crash, late):
        registry.source("mxnet", f"Custom:{function.__name__}", function, reference=lambda attributes, data: data)
    registry.source("mxnet", "Custom:wrong", same, reference=lambda attributes, data: data + 1)
'''


def digits(folder: Path, name: str) -> Path:
    """A copy of the digits checkpoint; its symbol."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DIGITS / "digits-0020.params", folder / f"{name}-0000.params")
    return Path(shutil.copy(DIGITS / "digits-symbol.json", folder / f"{name}-symbol.json"))


def dense(folder: Path, name: str, operator: str = "", *, seed: int = 0, **attributes: str) -> Path:
    """A dense layer with parameters of its own, and behind it an operator if one is named; its symbol."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes: list[dict[str, Any]] = [
        {"op": "null", "name": "data", "inputs": [], "attrs": {"__shape__": "(2, 3)"}},
        {"op": "null", "name": "w", "inputs": []},
        {"op": "null", "name": "b", "inputs": []},
        {
            "op": "FullyConnected", "name": "fc", "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
            "attrs": {"num_hidden": "4"},
        },
    ]  # fmt: skip
    if operator:
        nodes.append({"op": operator, "name": "last", "inputs": [[3, 0, 0]], "attrs": attributes})
    document = {
        "nodes": nodes, "arg_nodes": [0, 1, 2], "heads": [[len(nodes) - 1, 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
    }  # fmt: skip
    symbol = folder / f"{name}-symbol.json"
    symbol.write_text(json.dumps(document))
    random = np.random.default_rng(seed)
    held = {"arg:w": random.standard_normal((4, 3)), "arg:b": random.standard_normal(4)}
    write_params(folder / f"{name}-0000.params", {key: value.astype(np.float32) for key, value in held.items()})
    return symbol


def custom(folder: Path, name: str, kind: str) -> Path:
    """A dense layer and an operator of the plugin."""
    return dense(folder, name, "Custom", op_type=kind)


def tar(path: Path, files: dict[str, bytes], *, kind: bytes = tarfile.REGTYPE, link: str = "") -> Path:
    """A .tar.gz of files, of which the last is of another kind if one is stated."""
    with tarfile.open(path, "w:gz") as archive:
        for place, (name, content) in enumerate(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if place + 1 == len(files) and kind != tarfile.REGTYPE:
                entry.type, entry.linkname, entry.size = kind, link, 0
            archive.addfile(entry, io.BytesIO(content))
    return path


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    """A .zip of files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def model_files(name: str = "m") -> dict[str, bytes]:
    """The files of the digits checkpoint by name."""
    return {
        f"{name}-symbol.json": (DIGITS / "digits-symbol.json").read_bytes(),
        f"{name}-0000.params": (DIGITS / "digits-0020.params").read_bytes(),
    }

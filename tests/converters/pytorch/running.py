"""A written module, run by torch in this process."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.pytorch import to_module
from graphir.graph import Graph
from graphir.tensor import Tensor
from graphir.types import DType
from tests.requirements import missing

# Element types that torch takes from numpy as integers of their width.
BY_BITS = {"bfloat16": np.int16, "float8_e4m3fn": np.int8, "float8_e5m2": np.int8, "float8_e4m3fnuz": np.int8,
           "float8_e5m2fnuz": np.int8}  # fmt: skip


def need_torch() -> None:
    """Skip where torch is not installed."""
    if find_spec("torch") is None:
        missing("PyTorch", "torch is not installed")


def to_torch(array: Any) -> Any:
    """An array as a torch tensor of its type; lists and None stay so."""
    import torch

    if array is None or isinstance(array, list):
        return array and [to_torch(part) for part in array]
    array = np.array(array)
    if array.dtype.name in BY_BITS:
        held = torch.from_numpy(array.view(BY_BITS[array.dtype.name]))
        return held.view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)


def to_numpy(value: Any) -> Any:
    """What a module gave as arrays: tensors, lists of them, None."""
    import torch

    if isinstance(value, list | tuple):
        return [to_numpy(part) for part in value]
    if not isinstance(value, torch.Tensor):
        return value
    name = str(value.dtype).removeprefix("torch.")
    value = value.detach().contiguous()
    if name in BY_BITS:
        bits = {np.int8: torch.int8, np.int16: torch.int16}[BY_BITS[name]]
        return value.view(bits).numpy().view(DType.of(name.replace("float8_", "float8")).numpy())
    return value.numpy()


def elements(tensor: Tensor) -> Any:
    """The elements of a stored tensor as torch has them."""
    return to_torch(np.array(tensor.numpy()))


def written_class(graph: Graph) -> tuple[Any, str]:
    """A module of the graph in eval mode with its weights, and its text."""
    module = to_module(graph)
    text = module.text("a test")
    ast.parse(text)
    untraced = [row["key"] for row in module.names if row["source"] is None]
    assert not untraced, untraced
    names: dict[str, Any] = {"__file__": "net.py"}
    exec(compile(text, "net.py", "exec"), names)
    net = names["Net"]()
    net.load_state_dict({key: elements(tensor) for key, tensor in module.tensors.items()}, strict=True)
    return net.eval(), text


def run_module(graph: Graph, feeds: Sequence[Any]) -> tuple[list[Any], str]:
    """The outputs of a graph's module for inputs in their order, and its text."""
    import torch

    net, text = written_class(graph)
    with torch.no_grad():
        found = net(*map(to_torch, feeds))
    found = to_numpy(found)
    return (found if isinstance(found, list) and len(graph.outputs) > 1 else [found]), text


def imported(path: Path) -> Any:
    """A written module, imported from its file."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_keras(program: str, folder: Path) -> None:
    """Run a program of Keras in a folder. Skip where there is no TensorFlow."""
    python = os.environ.get("GRAPHIR_TENSORFLOW_PYTHON", sys.executable)
    done = subprocess.run([python, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr:
        missing("TensorFlow", done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr


def run_session(graph: Graph, feeds: Mapping[str, Any]) -> list[Any]:
    """The same from onnxruntime, without optimisations."""
    import graphir

    return list(graphir.Session(graph, optimize=False).run(dict(feeds)).values())

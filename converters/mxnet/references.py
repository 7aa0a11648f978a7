"""What an MXNet model is held against: live MXNet in a child process, or the numpy reference evaluator."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.nnvm_json import to_json
from graphir.converters.mxnet.records import VARIABLE, NNVMGraph
from graphir.errors import VerificationError
from graphir.tensor import Tensor

Array = NDArray[Any]
PYTHON_VARIABLE = "GRAPHIR_MXNET_PYTHON"
NEEDS_ONEDNN = frozenset({"RNN"})


class ReferenceEvaluator:
    """The numpy reference of MXNet's documented semantics."""

    label = "graphir's numpy reference of MXNet"

    def __init__(self, symbol: NNVMGraph, tensors: Mapping[str, Tensor]) -> None:
        self._symbol = symbol
        self._arrays = _used_arrays(symbol, tensors)

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The symbol's outputs, or the named values."""
        from graphir.converters.mxnet.reference.evaluate import evaluate

        return evaluate(self._symbol, {**self._arrays, **feeds}, outputs=outputs)

    def values(self) -> list[str]:
        """All values in order."""
        return _value_names(self._symbol)


class LiveMXNet:
    """MXNet itself, in a child process of an interpreter that has it."""

    def __init__(self, symbol: NNVMGraph, tensors: Mapping[str, Tensor], *, python: str | None = None) -> None:
        self._symbol = symbol
        self._arrays = _used_arrays(symbol, tensors)
        self._python = python or live_python() or sys.executable
        self.label = "MXNet in a child process"

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The symbol's outputs, or the named values. Raises VerificationError with MXNet's own message."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="graphir-mxnet-") as folder:
            place = Path(folder)
            (place / "symbol.json").write_text(to_json(self._symbol))
            stored = {f"a{index}": array for index, array in enumerate([*self._arrays.values(), *feeds.values()])}
            np.savez(place / "arrays.npz", **stored)
            (place / "names.txt").write_text("\n".join([*self._arrays, *feeds]))
            (place / "outputs.txt").write_text("\n".join(outputs or []))
            onednn = any(node.op in NEEDS_ONEDNN for node in self._symbol.nodes)
            environment = {**os.environ, "MXNET_SUBGRAPH_BACKEND": "NONE", "GRAPHIR_ONEDNN": str(int(onednn))}
            if not onednn:
                environment |= {"MXNET_USE_ONEDNN": "0", "MXNET_MKLDNN_ENABLED": "0"}
            script = Path(__file__).with_name("live_child.py")
            done = subprocess.run(
                [self._python, str(script), folder], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                tail = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise VerificationError(f"live MXNet ({self._python}) failed: {tail}")
            self.label = f"MXNet {(place / 'version.txt').read_text().strip()} in a child process"
            names = (place / "results.txt").read_text().splitlines()
            with np.load(place / "results.npz") as archive:
                return {name: archive[f"r{index}"] for index, name in enumerate(names)}

    def values(self) -> list[str]:
        """All values in order."""
        return _value_names(self._symbol)


def live_python() -> str | None:
    """The interpreter that has MXNet: the one that GRAPHIR_MXNET_PYTHON names, or this one; None if there is none."""
    import importlib.util

    named = os.environ.get(PYTHON_VARIABLE)
    if named:
        return named
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0" or importlib.util.find_spec("mxnet") is None:
        return None
    return sys.executable


def _used_arrays(symbol: NNVMGraph, tensors: Mapping[str, Tensor]) -> dict[str, Array]:
    names = {node.name for node in symbol.nodes if node.op == VARIABLE}
    return {name: tensor.numpy() for name, tensor in tensors.items() if name in names}


def _value_names(symbol: NNVMGraph) -> list[str]:
    from graphir.converters.mxnet.reference.evaluate import entry_names

    return [name for (index, _), name in entry_names(symbol).items() if symbol.nodes[index].op != VARIABLE]


__all__ = ["LiveMXNet", "ReferenceEvaluator", "live_python"]

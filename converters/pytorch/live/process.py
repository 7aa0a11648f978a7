"""A module that was written, run by torch in a child process, as a reference."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.formats import Reference
from graphir.converters.kernel.child_process import ChildProcess
from graphir.converters.kernel.live import Live
from graphir.converters.pytorch.exporting.exporter import TorchModule
from graphir.converters.pytorch.exporting.state import DTYPES
from graphir.errors import VerificationError
from graphir.types import DType

Array = NDArray[Any]
PYTHON_VARIABLE = "GRAPHIR_TORCH_PYTHON"


class TorchMissing(VerificationError):
    """The interpreter that was to run torch cannot import it."""


class TorchRefuses(VerificationError):
    """torch is there, but the module fails in it."""


def live_python(live: Live | None) -> str:
    """Return the interpreter that has torch: the one that is stated, that GRAPHIR_TORCH_PYTHON names, or this one.
    Raises VerificationError where none is known."""
    named = (None if live is None else live.python) or os.environ.get(PYTHON_VARIABLE)
    if named:
        return named
    if importlib.util.find_spec("torch") is None:
        raise VerificationError(
            "the module was not run: this interpreter has no torch; install it, or name an interpreter that has it "
            f"with --python or {PYTHON_VARIABLE}"
        )
    return sys.executable


class TorchProcess(ChildProcess):
    """A child with a module's text and its weights, which runs it on feeds until it is closed."""

    framework, missing, refuses = "PyTorch", TorchMissing, TorchRefuses

    def __init__(self, python: str, text: str, module: TorchModule, live: Live | None = None) -> None:
        super().__init__(python, live)
        recording, self.recorded = module.recording
        (self.place / "module.py").write_text(text, encoding="ascii")
        (self.place / "recording.py").write_text(recording, encoding="ascii")
        self._store("weights", {name: tensor.numpy() for name, tensor in module.tensors.items()})
        outputs = [value.name for value in module.graph.outputs]
        name = module.design.classes[-1].name
        about = {"name": name, "outputs": outputs, "keys": module.design.keys}
        (self.place / "module.json").write_text(json.dumps(about), encoding="ascii")
        first = self.start(Path(__file__).with_name("child.py"), [], {"CUDA_VISIBLE_DEVICES": "-1"})
        self.version = str(first.get("version", "of an unknown version"))

    def evaluate(
        self, feeds: Mapping[str, Array], order: Sequence[str], names: Sequence[str]
    ) -> Iterator[tuple[str, Array]]:
        """Yield the named values, one after the other; `order` is that of the module's inputs."""
        self._store("feeds", {name: feeds[name] for name in order})
        (self.place / "wanted.json").write_text(json.dumps(names), encoding="ascii")
        for name, array in self.ask():
            dtype, _, value = name.partition(" ")
            yield value, array.view(DType(dtype).numpy()) if dtype != array.dtype.name else array

    def _store(self, what: str, arrays: Mapping[str, Array]) -> None:
        """Arrays as an .npz without their names, which may be anything; the names and types beside it."""
        plain = [array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array for array in map(
            np.ascontiguousarray, arrays.values())]  # fmt: skip
        shaped = [array.reshape(given.shape) for array, given in zip(plain, arrays.values(), strict=True)]
        np.savez(self.place / f"{what}.npz", **{f"a{index}": array for index, array in enumerate(shaped)})
        types = {name: DTYPES[DType.of(array.dtype)] for name, array in arrays.items()}
        (self.place / f"{what}.json").write_text(json.dumps(list(types.items())), encoding="ascii")


class LiveTorch(Reference):
    """A written module in torch. It starts when values are asked for."""

    def __init__(
        self,
        text: str,
        module: TorchModule,
        python: str,
        live: Live | None = None,
        orders: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.label = "PyTorch in a child process"
        self.outputs = [value.name for value in module.graph.outputs]
        self._text, self._module, self._python, self._live = text, module, python, live
        self._orders = orders or {}
        self._process: TorchProcess | None = None

    def values(self) -> list[str]:
        """Return the names of the values that the module computes, in order."""
        return self._module.recording[1]

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Return the named values from one run."""
        if self._process is None or self._process.is_done:
            self._process = TorchProcess(self._python, self._text, self._module, self._live)
        self.label = f"the module in PyTorch {self._process.version}"
        order = [value.name for value in self._module.graph.inputs]
        moved = {name: self._moved(name, array) for name, array in feeds.items()}
        results = self._process.evaluate(moved, order, list(dict.fromkeys(names)))
        return ((name, self._moved(name, array, back=True)) for name, array in results)

    def _moved(self, name: str, array: Array, *, back: bool = False) -> Array:
        """Return an input or output of the source in the module's order of axes, or the other way round."""
        order = self._orders.get(name)
        if order is None:
            return array
        return array.transpose(np.argsort(order) if back else order)

    def close(self) -> None:
        """End the child process."""
        if self._process is not None:
            self._process.close()
            self._process = None

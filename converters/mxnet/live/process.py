"""Live MXNet in a child process: a symbol and its parameters, evaluated on feeds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.kernel.child_process import ChildProcess
from graphir.converters.kernel.live import Live
from graphir.converters.mxnet.files.nnvm_json import to_json
from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.errors import VerificationError
from graphir.types import DType

Array = NDArray[Any]


BFLOAT16 = np.dtype([("bfloat16", "<u2")])
"""What MXNet's arrays of bfloat16 are to numpy."""


class MXNetMissing(VerificationError):
    """The interpreter that was to run MXNet cannot import it."""


class MXNetRefuses(VerificationError):
    """MXNet is there, but its CPU build cannot run the model."""


class LiveProcess(ChildProcess):
    """A child with a symbol and its parameters, which evaluates them on feeds until it is closed.

    Raises MXNetMissing if it cannot import MXNet, and LiveFailed if it does not start.
    """

    framework, missing, refuses = "MXNet", MXNetMissing, MXNetRefuses

    def __init__(
        self, python: str, symbol: NNVMGraph, arrays: Mapping[str, Array], *, onednn: bool, live: Live | None = None
    ) -> None:
        super().__init__(python, live)
        (self.place / "symbol.json").write_text(to_json(symbol), encoding="utf-8")
        self._store("parameters", arrays)
        switch = str(int(onednn))
        environment = {"MXNET_USE_ONEDNN": switch, "MXNET_MKLDNN_ENABLED": switch}
        first = self.start(Path(__file__).with_name("child.py"), [], environment)
        self.version = str(first.get("version", "of an unknown version"))

    def evaluate(self, feeds: Mapping[str, Array], names: Sequence[str]) -> Iterator[tuple[str, Array]]:
        """Yield the named values, one after the other; see `ask`."""
        self._store("feeds", feeds)
        (self.place / "outputs.json").write_text(json.dumps(names), encoding="utf-8")
        for name, array in self.ask():
            yield name, array.view(DType.BFLOAT16.numpy()) if array.dtype == BFLOAT16 else array

    def _store(self, what: str, arrays: Mapping[str, Array]) -> None:
        """Arrays as an .npz without their names, which may be anything, and the names beside it."""
        plain = [_as_mxnet_has_it(array) for array in arrays.values()]
        np.savez(self.place / f"{what}.npz", **{f"a{index}": array for index, array in enumerate(plain)})
        (self.place / f"{what}.json").write_text(json.dumps(list(arrays)), encoding="utf-8")


def _as_mxnet_has_it(array: Array) -> Array:
    """bfloat16 in MXNet's form; other elements that numpy lacks as float32, which holds them exactly."""
    if array.dtype.kind != "V":
        return array
    if DType.of(array.dtype) is DType.BFLOAT16:
        return np.ascontiguousarray(array).reshape(array.shape).view(BFLOAT16)
    return array.astype(np.float32)

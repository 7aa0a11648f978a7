"""The child process that runs live MXNet: starting it, asking it, and saying what went wrong in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.nnvm_json import to_json
from graphir.converters.mxnet.records import NNVMGraph
from graphir.errors import VerificationError

Array = NDArray[Any]
read_array: Any = np.lib.format.read_array


class MXNetMissing(VerificationError):
    """The interpreter that was to run MXNet cannot import it."""


class MXNetRefuses(VerificationError):
    """MXNet is there, but its CPU build cannot run the model."""


class _Pipe:
    """A pipe that does not look like a file to numpy, which would ask for its position."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.read = pipe.read


class LiveProcess:
    """A child with a symbol and its parameters, which evaluates them on feeds until it is closed.

    Raises MXNetMissing if it cannot import MXNet, and VerificationError if it does not start.
    """

    def __init__(self, python: str, symbol: NNVMGraph, arrays: Mapping[str, Array], *, onednn: bool) -> None:
        self._python = python
        self._folder = tempfile.TemporaryDirectory(prefix="graphir-mxnet-", ignore_cleanup_errors=True)
        self._place = Path(self._folder.name)
        (self._place / "symbol.json").write_text(to_json(symbol), encoding="utf-8")
        self._store("parameters", arrays)
        switch = str(int(onednn))
        environment = os.environ | {
            "MXNET_SUBGRAPH_BACKEND": "NONE",
            "MXNET_USE_ONEDNN": switch,
            "MXNET_MKLDNN_ENABLED": switch,
        }
        script = Path(__file__).with_name("live_child.py")
        with open(self._place / "stderr.txt", "wb") as errors:
            try:
                self._child = subprocess.Popen(
                    [python, str(script), str(self._place)],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                )
            except OSError as error:
                raise MXNetMissing(f"cannot start {python} to run MXNet: {error.strerror or error}") from error
        self._finalizer = weakref.finalize(self, _end, self._child, self._folder)
        first = self._answer()
        if "missing" in first:
            raise MXNetMissing(f"{python} cannot import MXNet: {first['missing']}")
        self.version = str(first["version"])

    def evaluate(self, feeds: Mapping[str, Array], names: Sequence[str]) -> Iterator[tuple[str, Array]]:
        """The named values, one after the other. All of them must be taken before the next call."""
        self._store("feeds", feeds)
        request = self._place / "outputs.json"
        request.write_text(json.dumps(names), encoding="utf-8")
        try:
            self._input.write(b"evaluate\n")
            self._input.flush()
        except OSError as error:
            raise self._ended() from error
        while True:
            answer = self._answer()
            if "error" in answer:
                raise MXNetRefuses(f"live MXNet ({self._python}) failed: {answer['error']}")
            if "name" not in answer:
                return
            yield str(answer["name"]), read_array(_Pipe(self._output), allow_pickle=False)

    def close(self) -> None:
        """End the child and remove its files."""
        self._finalizer()

    @property
    def _input(self) -> IO[bytes]:
        assert self._child.stdin is not None
        return self._child.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._child.stdout is not None
        return self._child.stdout

    def _answer(self) -> dict[str, Any]:
        line = self._output.readline()
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise self._ended() from error
        return found

    def _ended(self) -> VerificationError:
        code = self._child.wait()
        lines = (self._place / "stderr.txt").read_text(errors="replace").strip().splitlines()
        reason = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        tail = f": {lines[-1][:300]}" if lines else ""
        return VerificationError(f"live MXNet ({self._python}) {reason}{tail}")

    def _store(self, what: str, arrays: Mapping[str, Array]) -> None:
        """Arrays as an .npz without their names, which may be anything, and the names beside it. MXNet on the CPU has
        no bfloat16 operators: such arrays go as float32, which holds them exactly."""
        plain = [array.astype(np.float32) if array.dtype.kind == "V" else array for array in arrays.values()]
        np.savez(self._place / f"{what}.npz", **{f"a{index}": array for index, array in enumerate(plain)})
        (self._place / f"{what}.json").write_text(json.dumps(list(arrays)), encoding="utf-8")


def _end(child: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # what was still to be written is of no use to a process that has ended
    folder.cleanup()


__all__ = ["LiveProcess", "MXNetMissing"]

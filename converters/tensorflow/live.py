"""Live TensorFlow as a reference: the model's own file, run by TensorFlow in a child process."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.tensorflow.reader import TFSource, open_model
from graphir.converters.tensorflow.records import Endpoint
from graphir.converters.tensorflow.schema import output_types
from graphir.errors import FormatError, VerificationError
from graphir.types import DType

Array = NDArray[Any]
PYTHON_VARIABLE = "GRAPHIR_TENSORFLOW_PYTHON"
SETTINGS = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0",
            "PYTHONSAFEPATH": "1"}
read_array: Any = np.lib.format.read_array


class TensorFlowMissing(VerificationError):
    """The interpreter that was to run TensorFlow cannot import it."""


class _Pipe:
    """A pipe that does not look like a file to numpy, which would ask for its position."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.read = pipe.read


def live_python() -> str | None:
    """The interpreter that has TensorFlow: the one that GRAPHIR_TENSORFLOW_PYTHON names, or this one; None if none."""
    named = os.environ.get(PYTHON_VARIABLE)
    if named:
        return named
    return sys.executable if importlib.util.find_spec("tensorflow") is not None else None


class LiveTensorFlow:
    """A model that TensorFlow runs. `outputs` are the names that the imported graph has for its outputs."""

    def __init__(
        self, path: str | os.PathLike[str], outputs: Sequence[str], python: str, signature: str | None = None
    ) -> None:
        self.label = "TensorFlow in a child process"
        self.outputs = list(outputs)
        self._python = python
        self._path = Path(path)
        self._source: TFSource = open_model(path, signature)
        self._process: _Process | None = None

    @property
    def may_lack(self) -> frozenset[str]:
        """None: every output has a meaning."""
        return frozenset()

    def values(self) -> list[str]:
        """The results of the nodes outside of functions, as `node:slot`, and the outputs; of a signature these only."""
        if self._has_functions or self._is_keras:
            return list(self.outputs)
        found: list[str] = []
        for node in self._source.graph.nodes:
            try:
                types = output_types(node.op, node.attrs) or []
            except FormatError:
                types = []
            found += [f"{node.name}:{slot}" for slot, dtype in enumerate(types) if isinstance(dtype, DType)]
        return [*found, *self.outputs]

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """The named values. Raises TensorFlowMissing if the interpreter cannot import TensorFlow, and VerificationError
        with TensorFlow's own message, or with the signal that ended it."""
        if self._process is None:
            self._process = _Process(self._python, self._kind(), self._path)
        self.label = f"TensorFlow {self._process.version} in a child process"
        wanted = list(dict.fromkeys(names))
        fed = {self._tensor(name): array for name, array in feeds.items()}
        found = self._process.evaluate(fed, [self._tensor(name) for name in wanted])
        yield from zip(wanted, (array for _, array in found), strict=True)

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The outputs, or the named values."""
        return dict(self.stream(feeds, self.outputs if outputs is None else outputs))

    def close(self) -> None:
        """End the child process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _kind(self) -> str:
        if self._is_keras:
            return "keras"
        if self._path.suffix == ".meta":
            return "meta"
        if self._source.signature is None:
            return "graph"
        if not self._path.is_dir():
            self._path = self._path.parent
        return f"signature:{self._source.signature.name}" if self._has_functions else "saved_model"

    @property
    def _has_functions(self) -> bool:
        """Whether this is a SavedModel of TensorFlow 2, which its signatures are the way to run."""
        return self._source.signature is not None and bool(self._source.graph.functions)

    @property
    def _is_keras(self) -> bool:
        return self._source.kind.startswith("Keras")

    def _tensor(self, name: str) -> str:
        """TensorFlow's name of an input, an output or a node's result; for Keras its number."""
        if self._is_keras and self._source.signature is not None:
            if name in self.outputs:
                return f"output:{self.outputs.index(name)}"
            return f"input:{list(self._source.signature.inputs).index(name)}"
        if self._has_functions:
            return name
        signature = self._source.signature
        endpoint = None if signature is None else signature.outputs.get(name) or signature.inputs.get(name)
        endpoint = endpoint or Endpoint.of(name)
        return str(Endpoint(self._source.renamed.get(endpoint.node, endpoint.node), endpoint.slot))


class _Process:
    """A child with a model, which evaluates it on feeds until it is closed."""

    def __init__(self, python: str, kind: str, path: Path) -> None:
        self._python = python
        self._folder = tempfile.TemporaryDirectory(prefix="graphir-tensorflow-", ignore_cleanup_errors=True)
        self._place = Path(self._folder.name)
        script = Path(__file__).with_name("live_child.py")
        with open(self._place / "stderr.txt", "wb") as errors:
            try:
                self._child = subprocess.Popen(
                    [python, str(script), str(self._place), kind, str(path.resolve())],
                    env=os.environ | SETTINGS,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                )
            except OSError as error:
                reason = error.strerror or error
                raise TensorFlowMissing(f"cannot start {python} to run TensorFlow: {reason}") from error
        self._finalizer = weakref.finalize(self, _end, self._child, self._folder)
        first = self._answer()
        if "missing" in first:
            raise TensorFlowMissing(f"{python} cannot import TensorFlow: {first['missing']}")
        if "error" in first:
            raise VerificationError(f"live TensorFlow ({python}) cannot load {path}: {first['error']}")
        self.version = str(first["version"])

    def evaluate(self, feeds: Mapping[str, Array], fetches: Sequence[str]) -> Iterator[tuple[str, Array]]:
        """The tensors, one after the other. All of them must be taken before the next call."""
        np.savez(self._place / "feeds.npz", **{f"a{index}": array for index, array in enumerate(feeds.values())})
        request = {"feeds": list(feeds), "fetches": list(fetches)}
        (self._place / "request.json").write_text(json.dumps(request), encoding="utf-8")
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(b"evaluate\n")
            self._child.stdin.flush()
        except OSError as error:
            raise self._ended() from error
        while True:
            answer = self._answer()
            if "error" in answer:
                raise VerificationError(f"live TensorFlow ({self._python}) failed: {answer['error']}")
            if "name" not in answer:
                return
            yield str(answer["name"]), read_array(_Pipe(self._output), allow_pickle=False)

    def close(self) -> None:
        """End the child and remove its files."""
        self._finalizer()

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
        self._child.kill()  # it may still run, if what it said is no answer
        code = self._child.wait()
        lines = (self._place / "stderr.txt").read_text(errors="replace").strip().splitlines()
        reason = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return VerificationError(
            f"live TensorFlow ({self._python}) {reason}{f': {lines[-1][:300]}' if lines else ''}"
        )


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


__all__ = ["PYTHON_VARIABLE", "LiveTensorFlow", "TensorFlowMissing", "live_python"]

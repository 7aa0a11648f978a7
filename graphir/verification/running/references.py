"""What a model is held against besides its own framework: what that framework recorded, and the model itself in
onnxruntime without optimisations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.arrays import Array
from graphir.converters.formats import Reference
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.inputs.files import npz_names, read_npz
from graphir.safety.arguments import PathLike
from graphir.verification.options import MEMORY_BUDGET
from graphir.verification.running.candidate import OnnxCandidate

if TYPE_CHECKING:
    from graphir.converters.formats import Judge


class GoldenCapture(Reference):
    """Inputs, outputs and internals recorded in an .npz by the framework that the model was made with.

    Keys: `input:<name>`, `output:<index>:<name>`, `internal:<name>`; others are passed over. Arrays are read when they
    are wanted. It is `recorded`: it has answers for its own inputs only.
    """

    recorded = True

    def __init__(self, path: PathLike) -> None:
        self.label = f"golden capture {Path(path).name}"
        self._path = path
        self._keys: dict[str, str] = {}
        inputs: dict[str, str] = {}
        numbered: list[tuple[int, str]] = []
        keys = npz_names(path)
        for key in keys:
            kind, _, rest = key.partition(":")
            index, _, name = rest.partition(":")
            if kind == "input":
                inputs[rest] = key
            elif kind == "internal":
                self._keys[rest] = key
            elif kind == "output" and index.isdecimal() and name:
                numbered.append((int(index), name))
                self._keys[name] = key
        self.outputs = [name for _, name in sorted(numbered)]
        # A capture does not say which outputs are losses. A note names those that are missing.
        self.may_lack = frozenset(self.outputs)
        if not self.outputs:
            present = ", ".join(sorted(keys)[:5]) or "nothing"
            raise VerificationError(
                f"{path} is no golden capture: it has no key like output:0:softmax_output (found: {present})"
            )
        self.feeds = {name: self._read(key) for name, key in inputs.items()}

    def values(self) -> list[str]:
        """Return the names of the recorded values."""
        return list(self._keys)

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Yield the recorded values, whatever the feeds."""
        for name in names:
            yield name, self._read(self._keys[name])

    def _read(self, key: str) -> Array:
        return read_npz(self._path, [key])[key]


class RuntimeReference(Reference):
    """A graph or an ONNX file itself, in onnxruntime without optimisations; `memory` is what the comparison may take
    beside the weights, in bytes."""

    def __init__(self, model: Graph | PathLike, *, memory: int = MEMORY_BUDGET) -> None:
        self.onnx = OnnxCandidate(model, optimize=False, memory=memory)
        self.onnx.role = "the reference"
        self.label = self.onnx.label
        self.outputs = list(self.onnx.session.outputs)
        self.keys = self.onnx.keys

    @property
    def structure(self) -> Any:
        """Which operator makes which value."""
        return self.onnx.structure

    def values(self) -> list[str]:
        """Return the names of the model's results, in the file's order."""
        return list(self.onnx.structure.producers)

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Yield the named values, as many at a time as half of the budget holds; each is let go when it is given."""
        for part in self.slices(names, feeds, self.onnx.memory // 2):
            values = self.onnx.run(feeds, part)
            for name in part:
                yield name, values.pop(name)

    def slices(self, names: Iterable[str], feeds: Mapping[str, Array], most: int) -> list[list[str]]:
        """Return the names in parts whose values take at most so many bytes, each of which costs a run."""
        return self.onnx.slices(names, feeds, most)

    def close(self) -> None:
        """Remove the files made."""
        self.onnx.close()


def reference_of(judge: Judge, imported: Graph | PathLike, memory: int = MEMORY_BUDGET) -> Reference:
    """Return the reference that a judge is; for one that stands for the imported model, that in onnxruntime."""
    return RuntimeReference(imported, memory=memory) if judge.reference is None else judge.reference()

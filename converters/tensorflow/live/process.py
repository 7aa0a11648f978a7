"""Live TensorFlow as a reference: the model's own file, run by TensorFlow in a child process."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.formats import Reference
from graphir.converters.kernel.child_process import ChildProcess
from graphir.converters.kernel.live import Live
from graphir.converters.tensorflow.files.reader import TFSource
from graphir.converters.tensorflow.files.records import Endpoint, TFNode, needed_nodes
from graphir.converters.tensorflow.importing.inline import Flat, flatten
from graphir.converters.tensorflow.live.allowed import keras_classes, keras_functions, operators
from graphir.converters.tensorflow.opening import open_model
from graphir.converters.tensorflow.schema.operators import output_types
from graphir.errors import FormatError, VerificationError
from graphir.structure.state import State
from graphir.tensor import Tensor
from graphir.types import DType

Array = NDArray[Any]
STATE = "state:"  # before the names of variables that are set before a run, and read behind it
# What the child calls a source's kind; all else is Keras's.
KINDS = {"TensorFlow GraphDef": "graph", "TensorFlow SavedModel": "saved_model", "TensorFlow MetaGraph": "meta"}
PYTHON_VARIABLE = "GRAPHIR_TENSORFLOW_PYTHON"
SETTINGS = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
# TensorFlow's plain kernels want channels last on the CPU; those of oneDNN take channels first too.
ONEDNN = "TF_ENABLE_ONEDNN_OPTS"


class TensorFlowMissing(VerificationError):
    """The interpreter that was to run TensorFlow cannot import it."""


class TensorFlowRefuses(VerificationError):
    """TensorFlow is there, but cannot load the model, or cannot compute what is asked of it."""

    def __init__(self, *said: object) -> None:
        super().__init__(*said)
        self.add_note(
            "--against reference holds the result against the imported graph instead, which proves the export only"
        )


def live_python() -> str | None:
    """Return the interpreter that has TensorFlow: the one that GRAPHIR_TENSORFLOW_PYTHON names, or this one; None if
    none."""
    named = os.environ.get(PYTHON_VARIABLE)
    if named:
        return named
    return sys.executable if importlib.util.find_spec("tensorflow") is not None else None


class LiveTensorFlow(Reference):
    """A model that TensorFlow runs. `outputs` are the names that the imported graph has for its outputs;
    `insists` says that no other judge will do. `state` are inputs whose values its variables get before a run, and
    outputs that these are afterwards."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        outputs: Sequence[str],
        python: str,
        signature: str | None = None,
        live: Live | None = None,
        insists: bool = False,
        state: Mapping[str, State] | None = None,
    ) -> None:
        self.insists = insists
        self.label = "TensorFlow in a child process"
        self.outputs = list(outputs)
        self._python = python
        self._live = live
        self._path = Path(path)
        self._source: TFSource = open_model(path, signature, outputs)
        self._process: _Process | None = None
        self._state = {name: item.holder for name, item in (state or {}).items()}
        self._state |= {item.output: item.holder for item in (state or {}).values()}

    def values(self) -> list[str]:
        """Return the results of the nodes that the outputs need as `node:slot`, those of functions with the calls'
        names before theirs, and the outputs; for Keras the first results of layers, named alike. State is set anew for
        each run."""
        if self._is_keras:
            return [*self._layers, *self.outputs]
        names: list[str] = []
        for node in self._find_needed():
            try:
                types = output_types(node.op, node.attrs) or []
            except FormatError:
                types = []
            names += [f"{node.name}:{slot}" for slot, dtype in enumerate(types) if isinstance(dtype, DType)]
        known = set(names)
        return [*names, *(name for name in self.outputs if f"{name}:0" not in known)]

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Yield the named values. Raises TensorFlowMissing if the interpreter cannot import TensorFlow, and
        VerificationError with TensorFlow's own message, or with the signal that ended it."""
        if self._process is not None and self._process.is_done:
            self.close()
        if self._process is None:
            self._process = self._start(feeds)
        with_onednn = " with oneDNN" if self._has_channels_first else ""
        self.label = f"TensorFlow {self._process.version}{with_onednn} in a child process"
        wanted = list(dict.fromkeys(names))
        fed = {self._tensor(name, is_fed=True): array for name, array in feeds.items()}
        tensors = [self._tensor(name) for name in wanted]
        yield from zip(wanted, self._evaluate(self._process, fed, tensors), strict=True)

    def _evaluate(self, process: _Process, fed: Mapping[str, Array], wanted: Sequence[str]) -> Iterator[Array]:
        """Yield the tensors by TensorFlow's names of them, in order."""
        return (array for _, array in process.evaluate(fed, wanted))

    def close(self) -> None:
        """End the child process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _start(self, feeds: Mapping[str, Array]) -> _Process:
        """Start a child that may run what the outputs need, as far as it is allowed."""
        wanted, further = self._split_plugins()
        fed = {self._tensor(name, is_fed=True): str(array.dtype) for name, array in feeds.items()}
        allowed: dict[str, object] = {
            "operators": operators(),
            "wanted": [*(self._tensor(name) for name in self.outputs if name not in self._state), *wanted],
            "feeds": {name: dtype for name, dtype in fed.items() if not name.startswith(STATE)} | further,
            "state": sorted(set(self._state.values())),
            "inline": self._is_inlined,
        }
        if self._is_keras:
            allowed |= {"classes": keras_classes(), "functions": keras_functions()}
        kind, path = KINDS.get(self._source.kind, "keras"), Path(self._source.files[0])
        tensors = self._source.variables.items()
        variables = {name: tensor for name, tensor in tensors if tensor.dtype is not DType.STRING}
        return _Process(self._python, kind, path, allowed, variables, self._has_channels_first, self._live)

    def _split_plugins(self) -> tuple[list[str], dict[str, str]]:
        """Return no operands and no dtypes: no operator is computed outside TensorFlow."""
        return [], {}

    @cached_property
    def _flat_graph(self) -> Flat:
        """Return the nodes, those of functions that are called in place of the calls."""
        return flatten(self._source.graph) if self._is_inlined else Flat(self._source.graph.nodes)

    @cached_property
    def _layers(self) -> dict[str, str]:
        """Return by value the name of the Keras layer that gives it first, of layers that are called once: which call
        of another is which is not known."""
        layers = {str(endpoint): name for name, endpoint in self._source.results.items()}
        repeated = {name.partition("_call_")[0] for name in self._source.results if "_call_" in name}
        kept = {
            value: name for value, name in layers.items()
            if "_call_" not in name and not any(name == layer or name.startswith(f"{layer}/") for layer in repeated)
        }  # fmt: skip
        inputs = {} if self._source.signature is None else self._source.signature.inputs
        return {value: name for value, name in kept.items() if value not in map(str, inputs.values())}

    def _find_needed(self) -> list[TFNode]:
        """Return the nodes that the outputs depend on, in the graph's order."""
        nodes = {node.name: node for node in self._flat_graph.nodes}
        signature = self._source.signature
        stated = {} if signature is None else signature.outputs
        ends = (self._flat_graph.resolve(stated.get(name, Endpoint.of(name))).node for name in self.outputs)
        return needed_nodes(nodes, ends, controls=True)

    @property
    def _is_inlined(self) -> bool:
        """Return whether functions stand in place of their calls in the child, so that inner results can be fetched."""
        return bool(self._source.graph.functions)

    @property
    def _has_channels_first(self) -> bool:
        """Return whether a node works on channels first."""
        graph = self._source.graph
        attributes = [node.attrs for node in graph.nodes]
        attributes += [node.attrs for function in graph.functions.values() for node in function.nodes]
        return any(str(attrs.get("data_format", "")).startswith("NC") for attrs in attributes)

    @property
    def _is_keras(self) -> bool:
        return self._source.kind.startswith("Keras")

    def _tensor(self, name: str, *, is_fed: bool = False) -> str:
        """Return TensorFlow's name of an input, an output or a node's result; for Keras its number."""
        if name in self._state:
            return f"{STATE}{self._state[name]}"
        if self._is_keras and self._source.signature is not None:
            inputs, outputs = list(self._source.signature.inputs), list(self._source.signature.outputs)
            if name in outputs:
                return f"output:{outputs.index(name)}"
            if name in inputs:
                return f"input:{inputs.index(name)}"
            return f"layer:{self._layers[name]}"
        signature = self._source.signature
        endpoint = None if signature is None else signature.outputs.get(name) or signature.inputs.get(name)
        endpoint = endpoint or Endpoint.of(name)
        return str(Endpoint(self._source.renamed.get(endpoint.node, endpoint.node), endpoint.slot))


class _Process(ChildProcess):
    """A child with a model, which evaluates it on feeds until it is closed."""

    framework, missing, refuses = "TensorFlow", TensorFlowMissing, TensorFlowRefuses

    def __init__(
        self, python: str, kind: str, path: Path, allowed: Mapping[str, object], variables: Mapping[str, Tensor],
        onednn: bool, live: Live | None,
    ) -> None:  # fmt: skip
        super().__init__(python, live)
        for index, tensor in enumerate(variables.values()):
            np.save(self.place / f"{index}.npy", tensor.numpy(), allow_pickle=False)
        text = json.dumps({**allowed, "variables": list(variables)})
        (self.place / "allowed.json").write_text(text, encoding="utf-8")
        settings = SETTINGS | {ONEDNN: str(int(onednn)), "KERAS_HOME": str(self.place)}
        words = [kind, str(path.resolve())]
        first = self.start(Path(__file__).with_name("child.py"), words, settings, f"load {path}")
        self.version = str(first.get("version", "of an unknown version"))

    def evaluate(self, feeds: Mapping[str, Array], fetches: Sequence[str]) -> Iterator[tuple[str, Array]]:
        """Yield the tensors, one after the other; see `ask`."""
        np.savez(self.place / "feeds.npz", **{f"a{index}": array for index, array in enumerate(feeds.values())})
        request = {"feeds": list(feeds), "fetches": list(fetches)}
        (self.place / "request.json").write_text(json.dumps(request), encoding="utf-8")
        yield from self.ask()

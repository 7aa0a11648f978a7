"""What an MXNet model is held against: live MXNet in a child process, or the numpy reference evaluator."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from graphir.arrays import Array
from graphir.converters.formats import Judge, Reference
from graphir.converters.kernel.live import Live, LiveFailed
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.heads import dropped_heads
from graphir.converters.mxnet.importing.input_dtypes import stated_dtype
from graphir.converters.mxnet.live.process import LiveProcess
from graphir.converters.mxnet.live.process import MXNetMissing as MXNetMissing
from graphir.converters.mxnet.live.process import MXNetRefuses as MXNetRefuses
from graphir.converters.mxnet.live.regions import with_zeros_for_no_image
from graphir.converters.mxnet.schema.upgrade import FIRST_OF_TWO, as_two_writes, version_name
from graphir.errors import VerificationError
from graphir.runtime.machine import has_exact_8_bit_products
from graphir.tensor import Tensor
from graphir.types import DType

PYTHON_VARIABLE = "GRAPHIR_MXNET_PYTHON"
NEEDS_ONEDNN = frozenset({"RNN"})


def quantizes(symbol: NNVMGraph) -> bool:
    """Return whether the symbol has quantized operators."""
    return any("quantize" in node.op or "quantized" in node.attrs for node in symbol.nodes)


def needs_onednn(symbol: NNVMGraph) -> bool:
    """Return whether MXNet's CPU build computes the symbol through oneDNN only, or elsewise without it."""
    names = {node.op for node in symbol.nodes}
    if names & NEEDS_ONEDNN or any(_names_bfloat16(node) for node in symbol.nodes):
        return True
    return quantizes(symbol) or any(name.startswith("_sg_mkldnn") for name in names)


def refuse_effects(symbol: NNVMGraph) -> None:
    """Raise MXNetRefuses, with all of them, for operators that have no meaning here: none of those that have one calls
    Python, loads a library or reads a file, as `Custom`, `_CustomFunction` and `_cvimread` do."""
    from graphir.converters.mxnet.importing.ops import import_table
    from graphir.converters.mxnet.reference import operators

    allowed = import_table().keys() | operators().keys() | {VARIABLE}
    refused: dict[str, list[str]] = {}
    pending = [symbol]
    while pending:
        for node in pending.pop().nodes:
            pending += node.subgraphs
            if node.op not in allowed:
                refused.setdefault(node.op, []).append(node.name)
    if refused:
        shown = "; ".join(f"{op} ({', '.join(names[:3])})" for op, names in sorted(refused.items()))
        raise MXNetRefuses(f"MXNet runs operators that are known to have no effects only, and not {shown}")


def _in_dtypes_of_mxnet(feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Return the feeds as MXNet can hold them: what has a dtype that it lacks in the wider one that the export uses."""
    from graphir.converters.mxnet.exporting.dtypes import WIDER

    wider = {name: WIDER.get(DType.of(array.dtype)) for name, array in feeds.items()}
    return {name: array if (dtype := wider[name]) is None else array.astype(dtype.numpy())
            for name, array in feeds.items()}  # fmt: skip


class _OfSymbol(Reference):
    """What both references know from the symbol alone."""

    def __init__(self, symbol: NNVMGraph, tensors: Mapping[str, Tensor]) -> None:
        from graphir.converters.mxnet.reference.evaluate import entry_names

        self._symbol = symbol
        self._arrays = _used_arrays(symbol, tensors)
        self._names = entry_names(symbol)
        self.outputs = list(dict.fromkeys(self._names[entry] for entry in symbol.heads))
        # Outputs that are losses only, which a conversion leaves out.
        losses = dropped_heads(symbol, self._arrays)
        self.may_lack = frozenset(self._names[symbol.heads[place]] for place in losses)
        self.quantized = quantizes(symbol)

    def values(self) -> list[str]:
        """Return the names of all computed values, in order."""
        return [name for (index, _), name in self._names.items() if self._symbol.nodes[index].op != VARIABLE]


class ReferenceEvaluator(_OfSymbol):
    """The numpy reference of MXNet's documented semantics."""

    label = "graphir's numpy reference of MXNet"
    computes_all = True

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Return the named values in the order of computation, from one evaluation."""
        from graphir.converters.mxnet.reference.evaluate import evaluate_in_turn

        return evaluate_in_turn(self._symbol, {**self._arrays, **_in_dtypes_of_mxnet(feeds)}, names)


class LiveMXNet(_OfSymbol):
    """MXNet itself, in a child process of an interpreter that has it. The process stays until `close`. `insists`
    says that no other judge will do."""

    def __init__(
        self,
        symbol: NNVMGraph,
        tensors: Mapping[str, Tensor],
        *,
        python: str | None = None,
        live: Live | None = None,
        insists: bool = False,
    ) -> None:
        super().__init__(symbol, tensors)
        self._python = python or live_python() or sys.executable
        self._live = live
        self.insists = insists
        self._process: LiveProcess | None = None
        self._zeros = ""
        self.label = "MXNet in a child process"

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Return the named values. Raises MXNetMissing if the interpreter cannot import MXNet, and VerificationError
        with MXNet's own message, or with the signal that ended it."""
        if self._process is not None and self._process.is_done:
            self.close()
        if self._process is None:
            refuse_effects(self._symbol)
            self._refuse_saturating_products()
            plain = with_plain_labels(self._symbol, self._arrays)
            written = with_zeros_for_no_image(plain)
            self._zeros = "" if written is plain else ", given zeros for regions of no image"
            symbol = as_two_writes(written)
            onednn = needs_onednn(self._symbol)
            self._process = LiveProcess(self._python, symbol, self._arrays, onednn=onednn, live=self._live)
        if self._symbol.version >= FIRST_OF_TWO and self._process.version.startswith("1."):
            raise MXNetRefuses(f"MXNet {self._process.version} does not read files of MXNet 2.0")
        self.label = f"MXNet {self._process.version} in a child process{self._older()}{self._zeros}"
        return self._process.evaluate(_in_dtypes_of_mxnet(feeds), list(dict.fromkeys(names)))

    def _refuse_saturating_products(self) -> None:
        if self.quantized and not self.insists and not has_exact_8_bit_products():
            raise MXNetRefuses(
                "this processor has no VNNI instructions, and MXNet's sums of 8-bit products saturate on it "
                "(--against live compares with them all the same)"
            )

    def _older(self) -> str:
        """Return what to say of an MXNet that is older than the file: it takes what it knows of it, and may compute it
        in another way than the one that wrote it."""
        assert self._process is not None
        running = re.match(r"(\d+)\.(\d+)", self._process.version)
        written = self._symbol.version
        if running is None or int(running[1]) * 10000 + int(running[2]) * 100 + 99 >= written:
            return ""
        return f", older than the {version_name(written)} that wrote the model"

    def close(self) -> None:
        """End the child process."""
        if self._process is not None:
            self._process.close()
            self._process = None


def judges(
    symbol: NNVMGraph, tensors: Mapping[str, Tensor], against: str, live: Live | None = None
) -> list[Judge]:
    """Live MXNet, or the numpy reference, or both: as asked (`auto`, `live`, `reference`) and as available.

    An MXNet that is there but cannot be imported, whose CPU build cannot run the model (NHWC convolutions, float16), or
    whose process gives no answer, is passed over, unless it was asked for; an interpreter that was named has to have
    it. Raises VerificationError for live MXNet where no interpreter has it.
    """
    documented = Judge(partial(ReferenceEvaluator, symbol, tensors))
    named = (None if live is None else live.python) or os.environ.get(PYTHON_VARIABLE)
    python = None if against == "reference" else named or live_python()
    if against == "live" and python is None:
        raise VerificationError(
            "live MXNet was asked for, but this interpreter has none; name one that has it with --python or "
            f"{PYTHON_VARIABLE}"
        )
    if python is None:
        return [documented]
    running = partial(LiveMXNet, symbol, tensors, python=python, live=live)
    if against == "live":
        return [Judge(partial(running, insists=True))]
    gives_way: dict[type[Exception], str] = {
        MXNetRefuses: "the numpy reference stands in for MXNet, which could not run the model: {error}",
        LiveFailed: "the numpy reference stands in for MXNet, which gave no answer: {error}",
    }
    if not named:
        gives_way[MXNetMissing] = "the numpy reference stands in for MXNet, which is there but not usable: {error}"
    return [Judge(running, gives_way), documented]


def _names_bfloat16(node: NNVMNode) -> bool:
    """Return whether a variable or a cast is of bfloat16, for which MXNet has products through oneDNN only."""
    return stated_dtype(node) is DType.BFLOAT16


def with_plain_labels(symbol: NNVMGraph, arrays: Mapping[str, Array]) -> NNVMGraph:
    """Return the symbol whose loss heads read their label variables directly. Behind a Reshape MXNet cannot infer the
    shape of a label that nobody feeds; inference does not read it."""
    from graphir.converters.mxnet.reference.loss import LABELLED

    nodes = list(symbol.nodes)
    for index, node in enumerate(nodes):
        if node.op not in LABELLED or len(node.inputs) < 2 or nodes[node.inputs[1][0]].op == VARIABLE:
            continue
        pending = [node.inputs[1][0]]
        labels: set[int] = set()
        while pending:
            above = nodes[pending.pop()]
            pending.extend(producer for producer, _ in above.inputs)
            labels.update(producer for producer, _ in above.inputs if nodes[producer].op == VARIABLE)
        unread = sorted(label for label in labels if nodes[label].name not in arrays)
        if unread:
            nodes[index] = replace(node, inputs=[node.inputs[0], (unread[0], 0), *node.inputs[2:]])
    return replace(symbol, nodes=nodes)


def live_python() -> str | None:
    """Return the interpreter that has MXNet: the one that GRAPHIR_MXNET_PYTHON names, or this one; None if there is
    none."""
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

"""Sessions on whatever graphir reads: other formats and graphs are written as ONNX first."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from graphir.converters.detection import detect_format
from graphir.converters.onnx.parts import in_parts
from graphir.converters.opening import read_model
from graphir.converters.options import ModelOptions
from graphir.converters.table import FORMATS
from graphir.errors import ImportFailure, RunError, VerificationError
from graphir.files.paths import describe_missing
from graphir.graph import Graph
from graphir.runtime.prepared import Prepared
from graphir.runtime.session import PROVIDERS, OnnxSession, provider_names
from graphir.runtime.shared_weights import InMemory, SharedWeights
from graphir.safety.arguments import expect
from graphir.safety.isolation import is_traced
from graphir.structure.store import GraphStore

# Threads that wait for work wait asleep, not by asking all the time, which costs as much as work does. Products with
# weights of 4 bits are computed in float32: by itself onnxruntime rounds the other operand to 8 bits.
QUIET = {"session.intra_op.allow_spinning": "0", "session.qdq_matmulnbits_accuracy_level": "1"}
# A copy of the weights in the order of its products, which pays off after some runs.
UNPACKED = {"session.disable_prepacking": "1", **QUIET}
# enable_cpu_mem_arena is an attribute of onnxruntime's options, the others are entries of its table.
LEAN = {"enable_cpu_mem_arena": "0", **UNPACKED}
Model = Graph | bytes | str | os.PathLike[str]
External = str | os.PathLike[str] | SharedWeights
FEW = 1 << 24
"""The bytes of weights up to which a model goes to onnxruntime as bytes: beyond, a copy costs more."""


class Session(OnnxSession):
    """A model ready to run.

    `model` is a Graph, the bytes of an ONNX model, or a path to anything that `graphir.load` reads; an .onnx file goes
    to onnxruntime as it is. `providers` is `auto`, `cpu`, `cuda` or a sequence of onnxruntime's names. A provider that
    was asked for and cannot run is a ProviderError, never a fallback; `session.providers` says which ones do run.
    On CUDA, TF32 is off unless `tf32`. `optimize=False` turns onnxruntime's graph optimisations off. `external` is the
    folder of the external data that the bytes of a model name, `format` that of a path, where its content and name do
    not tell it.
    """

    entries: Mapping[str, str] = {}  # of onnxruntime's table of options

    def __init__(
        self,
        model: Model,
        *,
        providers: str | Sequence[str] = "auto",
        optimize: bool = True,
        tf32: bool = False,
        threads: int = 0,
        opset: int | None = None,
        external: str | os.PathLike[str] | None = None,
        format: str | None = None,
    ) -> None:
        kinds = (GraphStore, bytes, str, os.PathLike)
        expect(model, kinds, "the model", "a Graph, the bytes of an ONNX model or a path")
        names = provider_names(providers)  # one that is missing is refused before anything is read or written
        may_share = names[:1] == [PROVIDERS["cpu"]] and not is_traced()
        with _run_errors(), _as_onnx(model, opset, format, may_share) as source:
            super().__init__(
                source, providers=providers, optimize=optimize, tf32=tf32, threads=threads, external=external,
                entries=self.entries, parts=in_parts,
            )  # fmt: skip

    def run(self, feeds: Any, outputs: Any = None) -> Any:
        """Return the outputs (all, or those named) by name; of `run(None, feeds)` or `run(names, feeds)`, as
        onnxruntime has it, a list of them.

        A feed of another dtype is converted where its values survive that. The weights that are `defaults` of inputs
        may be fed too. Raises RunError for feeds that do not fit, all missing and unknown ones listed, for outputs that
        the model does not have, and for what onnxruntime fails at.
        """
        with _run_errors():
            if not isinstance(outputs, Mapping):
                return super().run(feeds, outputs)
            names = self.outputs if feeds is None else feeds
            results = super().run(outputs, names)
            return [results[name] for name in names]

    def prepared(self, feeds: Mapping[str, NDArray[Any]], *, bound: bool | None = None) -> Prepared:
        """See `OnnxSession.prepared`. Raises RunError as `run` does, and for what cannot be bound."""
        with _run_errors():
            return super().prepared(feeds, bound=bound)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Run on arrays in the order of the inputs, or by their names: the only output, or a tuple of all of them.

        What numpy can make an array of is one; see `run` for names that are no Python names. Raises RunError as `run`
        does, and for more arrays than inputs.
        """
        with _run_errors():
            return super().__call__(*arrays, **named)


@contextmanager
def _run_errors() -> Iterator[None]:
    """What comparisons catch as VerificationError is a RunError where nothing is compared."""
    try:
        yield
    except VerificationError as error:
        raise RunError(str(error)) from error.__cause__


class QuietSession(Session):
    """A session whose threads wait asleep for work."""

    entries = QUIET


class PartSession(OnnxSession):
    """A part of a model that runs on a provider."""

    needs_nodes = False


def quiet_session(
    model: bytes | str | os.PathLike[str], providers: str | Sequence[str], external: External, *, packed: bool = True
) -> OnnxSession:
    """Return an ONNX model as onnxruntime runs it by itself, but for threads that have nothing to do: see `QUIET`.
    `external` is the folder of its external data, or its weights. One that runs a few times only need not have them
    `packed` for its products."""
    return _onnx_session(model, providers, external, QUIET if packed else UNPACKED)


def lean_session(
    model: bytes | str | os.PathLike[str],
    providers: str | Sequence[str],
    external: External,
    *,
    optimize: bool = False,
    is_part: bool = False,
) -> OnnxSession:
    """Return an ONNX model for a few runs: started without optimisations, weights that onnxruntime maps are not copied
    into another order, memory is given back after each run. `external` is the folder of its external data, or its
    weights. With `optimize` nodes are fused, up to the level that leaves weights in their layout. Of a part of a model
    (`is_part`) nothing need run on the provider that runs the model.

    Starting it takes hundredths of the time that an optimised session takes; a run takes up to half as long again.
    """
    level = "ORT_ENABLE_EXTENDED" if optimize else "ORT_DISABLE_ALL"
    kind = PartSession if is_part else OnnxSession
    return _onnx_session(model, providers, external, {**LEAN, "graph_optimization_level": level}, kind)


def _onnx_session(
    model: bytes | str | os.PathLike[str],
    providers: str | Sequence[str],
    external: External,
    entries: Mapping[str, str],
    kind: type[OnnxSession] = OnnxSession,
) -> OnnxSession:
    if not isinstance(model, bytes):
        row = FORMATS["onnx"]
        assert row.check_run is not None
        row.check_run(model)
        model = os.fspath(model)
    return kind(model, providers=providers, external=external, entries=entries, parts=in_parts)


@contextmanager
def _as_onnx(model: Model, opset: int | None, format: str | None, may_share: bool) -> Iterator[bytes | str | InMemory]:
    """Yield what onnxruntime can open. A large graph's file is there as long as the context is open.

    With `may_share` there is none where the weights lie in memory: onnxruntime reads them there. Parts and single nodes
    of a model are cut from a file.
    """
    if isinstance(model, bytes):
        yield model
        return
    if isinstance(model, str | os.PathLike):
        if format is None and Path(model).suffix == ".onnx" and not Path(model).is_file():
            raise ImportFailure(describe_missing(model))
        name = format or detect_format(model)
        row = FORMATS.get(name)
        if row is not None and row.check_run is not None:
            row.check_run(model)
            yield os.fspath(model)
            return
        model = read_model(model, ModelOptions(format=name)).graph
    from graphir.converters.onnx.exporting.exporter import export_graph
    from graphir.converters.onnx.files.writer import bytes_and_arrays, model_bytes, write_model
    from graphir.passes.pipelines import export

    with export().on_copy(model) as live:
        records = export_graph(live, opset=opset)
        weights = records.initializers.values()
        if sum(tensor.nbytes for tensor in weights) < FEW:
            yield model_bytes(records)
        elif may_share and not records.domains and sum(tensor.nbytes for tensor in weights if tensor.region) < FEW:
            yield InMemory(*bytes_and_arrays(records))
        else:
            with tempfile.TemporaryDirectory(prefix="graphir-") as folder:
                yield os.fspath(write_model(records, Path(folder) / "model.onnx")[0])

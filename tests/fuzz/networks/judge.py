"""What becomes of a drawn network: live MXNet's numbers against those of four roads.

ONNX: import, export, onnxruntime. The reference: numpy. MXNet: import, export as a symbol again, live MXNet. PyTorch:
the module, run in this process.

A network enlarges errors of rounding, so a difference counts only where it is far beyond what MXNet's own results
change when its inputs change by rounding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import GraphirError
from graphir.graph import Graph
from tests.converters.pytorch.running import run_module
from tests.equivalence.live import LiveError
from tests.fuzz.networks import bases
from tests.fuzz.networks.draw import Drawn
from tests.fuzz.networks.network import Array
from tests.fuzz.symbols.judge import Kind, Outcome, PatientLive

ROADS = ("onnx", "reference", "mxnet", "torch")
RTOL = {"float16": 1e-2, "float32": 1e-3, "float64": 1e-3}
ROUNDING = {False: 3e-7, True: 1e-3}  # relative, of a network without and with float16
LOST = re.compile(r'"op": "(_contrib_boolean_mask|_npx_nonzero|_npi_delete|_npi_unique)"')
TIMES = 20.0  # so many changes by rounding a difference may be


class LiveNetworks:
    """MXNet with its plain operators, and a second one with oneDNN for networks that need it."""

    def __init__(self) -> None:
        self._processes = {onednn: PatientLive(onednn=onednn) for onednn in (False, True)}

    def __enter__(self) -> LiveNetworks:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.__exit__()

    def __call__(self, symbol: str, arrays: Mapping[str, Array], onednn: bool) -> list[Array]:
        """The outputs. Raises LiveError where MXNet refuses the network, or does not survive it, or gives no result:
        under np_shape its executor has an empty vector for what is as large as its data say, and refuses whatever reads
        it."""
        if '"is_np_shape"' in symbol and (lost := LOST.search(symbol)):
            raise LiveError(f"{lost[1]} under np_shape: MXNet's executor loses its result")
        return list(self._processes[onednn].run(symbol, arrays).values())


@dataclass(frozen=True)
class Verdict:
    """Whether MXNet runs a network, and what each road made of it; `torch` is unjudged unless it was requested."""

    runs: bool
    roads: Mapping[str, Outcome]


def verdict(live: LiveNetworks, drawn: Drawn, *, torch: bool = False) -> Verdict:
    """All roads of a network that MXNet runs. For one that it does not, whether our roads crash."""
    try:
        wanted: list[Array] | None = live(drawn.symbol, drawn.arrays, drawn.onednn)
    except LiveError as error:
        if "process ended" in str(error):
            return Verdict(False, dict.fromkeys(ROADS, Outcome(Kind.UNJUDGED)))
        wanted = None
    roads = _outcomes(live, drawn, wanted, torch=torch)
    if wanted is not None and bases.places(drawn.symbol) and any(each.kind is Kind.WRONG for each in roads.values()):
        roads = _with_mxnets_bases(live, drawn, wanted, roads, torch=torch)
    return Verdict(wanted is not None, roads)


def _outcomes(
    live: LiveNetworks, drawn: Drawn, wanted: Sequence[Array] | None, *, torch: bool
) -> dict[str, Outcome]:
    graph = _imported(drawn)
    roads = dict.fromkeys(ROADS, graph if isinstance(graph, Outcome) else Outcome(Kind.UNJUDGED))
    if not isinstance(graph, Outcome):
        roads["onnx"] = _through_onnx(graph, drawn, wanted)
        roads["mxnet"] = _through_mxnet(graph, drawn, wanted, live)
        if torch and wanted is not None:
            roads["torch"] = _through_torch(graph, drawn, wanted)
    roads["reference"] = _through_reference(drawn, wanted)
    if wanted is not None and any(outcome.kind is Kind.WRONG for outcome in roads.values()):
        roads = _beyond_rounding(live, drawn, wanted, roads)
    return roads


def _with_mxnets_bases(
    live: LiveNetworks, drawn: Drawn, wanted: Sequence[Array], roads: Mapping[str, Outcome], *, torch: bool
) -> dict[str, Outcome]:
    """The roads again, where decompositions that leave a basis free are proven to be what differs (see `bases`)."""
    proven = {name for name, outcome in roads.items() if outcome.kind is Kind.WRONG}
    results = {}
    for place, node in bases.places(drawn.symbol).items():
        try:
            operand, *true = live(bases.asked(drawn.symbol, place), drawn.arrays, drawn.onednn)
        except LiveError:
            return dict(roads)
        if not bases.decomposes(node, operand, true, true):
            return dict(roads)
        results[place] = true
        for name, outcome in _outcomes(live, bases.alone(drawn, place, operand), true, torch=torch).items():
            same = outcome.kind is Kind.EQUAL
            if not (same or (isinstance(outcome, Results) and bases.decomposes(node, operand, outcome.arrays, true))):
                proven.discard(name)
    again = _outcomes(live, bases.given(drawn, results), wanted, torch=torch)
    recorded = Outcome(Kind.RECORDED, "another basis of a decomposition; with MXNet's the network's results are equal")
    return {
        name: recorded if name in proven and again[name].kind is Kind.EQUAL else outcome
        for name, outcome in roads.items()
    }


def _imported(drawn: Drawn) -> Graph | Outcome:
    values = drawn.arrays
    fed = [name for name in values if name not in drawn.params]
    try:
        graph = from_symbol(
            drawn.symbol,
            {name: values[name] for name in drawn.params},
            {name: values[name].shape for name in fed},
            dtypes={name: values[name].dtype for name in fed},
            keep_loss=True,
            strict=True,
        )
        graph.check()
    except GraphirError as error:
        return Outcome(Kind.REFUSED, str(error))
    except Exception as error:
        return Outcome(Kind.CRASH, f"{type(error).__name__}: {error}")
    return graph


@dataclass(frozen=True)
class Results(Outcome):
    """The outcome of a road that came to numbers."""

    arrays: tuple[Array, ...] = ()


def _through_onnx(graph: Graph, drawn: Drawn, wanted: Sequence[Array] | None) -> Outcome:
    try:
        model = to_model(graph)
    except GraphirError as error:
        return Outcome(Kind.REFUSED, str(error))
    except Exception as error:
        return Outcome(Kind.CRASH, f"{type(error).__name__}: {error}")
    if wanted is None:
        return Outcome(Kind.UNJUDGED)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        kind = Kind.NO_KERNEL if "NOT_IMPLEMENTED" in str(error) else Kind.CRASH
        return Outcome(kind, f"{type(error).__name__}: {error}")
    try:
        found = session.run(None, {value.name: drawn.arrays[value.name] for value in graph.inputs})
    except Exception as error:
        return Outcome(Kind.STOPPED, f"{type(error).__name__}: {error}")
    return compare(found, wanted)


def _through_torch(graph: Graph, drawn: Drawn, wanted: Sequence[Array]) -> Outcome:
    try:
        results, _ = run_module(graph, [drawn.arrays[value.name] for value in graph.inputs])
    except GraphirError as error:
        return Outcome(Kind.REFUSED, str(error))
    except Exception as error:  # a factorization refuses NaN by an error of its own
        kind = Kind.STOPPED if type(error).__name__ == "LinAlgError" else Kind.CRASH
        return Outcome(kind, f"{type(error).__name__}: {error}")
    return compare(results, wanted)


def _through_reference(drawn: Drawn, wanted: Sequence[Array] | None) -> Outcome:
    try:
        with np.errstate(all="ignore"):
            found = list(evaluate(read_symbol(drawn.symbol), drawn.arrays).values())
    except GraphirError as error:
        return Outcome(Kind.REFUSED, str(error))
    except Exception as error:
        return Outcome(Kind.CRASH, f"{type(error).__name__}: {error}")
    return Outcome(Kind.UNJUDGED) if wanted is None else compare(found, wanted)


def _through_mxnet(graph: Graph, drawn: Drawn, wanted: Sequence[Array] | None, live: LiveNetworks) -> Outcome:
    try:
        text, params = to_symbol(graph)
    except GraphirError as error:
        return Outcome(Kind.REFUSED, str(error))
    except Exception as error:
        return Outcome(Kind.CRASH, f"{type(error).__name__}: {error}")
    if wanted is None:
        return Outcome(Kind.UNJUDGED)
    fed = {value.name: drawn.arrays[value.name] for value in graph.inputs}
    arrays = {name.partition(":")[2]: np.asarray(array) for name, array in params.items()} | fed
    onednn = drawn.onednn or "RNN" in text
    try:
        outcome = compare(live(text, arrays, onednn), wanted)
        keeps_nan = outcome.kind is Kind.WRONG and onednn and compare(live(_with_relu(text), arrays, True), wanted)
        if keeps_nan and keeps_nan.kind is Kind.EQUAL:
            return Outcome(Kind.RECORDED, "oneDNN's Activation makes 0 of NaN, which MXNet's relu keeps")
    except LiveError as error:
        return Outcome(Kind.STOPPED, str(error))
    return outcome


def _with_relu(text: str) -> str:
    """The symbol with the operator relu, which oneDNN has no part in, for each Activation of that kind."""
    symbol = json.loads(text)
    for node in symbol["nodes"]:
        if node["op"] == "Activation" and node["attrs"]["act_type"] == "relu":
            node["op"], node["attrs"] = "relu", {}
    return json.dumps(symbol)


def compare(found: Sequence[Array], wanted: Sequence[Array], noise: Sequence[Array] | None = None) -> Outcome:
    """Equal or wrong, output by output; a difference may be as large as MXNet's own `noise` allows."""
    if len(found) != len(wanted):
        return Outcome(Kind.WRONG, f"{len(found)} outputs, MXNet has {len(wanted)}")
    for slot, (mine, true) in enumerate(zip(found, wanted, strict=True)):
        text = _difference(np.asarray(mine), true, None if noise is None else noise[slot])
        if text:
            return Results(Kind.WRONG, f"output {slot}: {text}", tuple(np.asarray(each) for each in found))
    return Outcome(Kind.EQUAL)


def _difference(found: Array, wanted: Array, noise: Array | None) -> str:
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"{found.dtype}{list(found.shape)}, MXNet {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind != "f":
        different = found != wanted
    else:
        left, right = found.astype(np.float64), wanted.astype(np.float64)
        with np.errstate(all="ignore"):
            largest = float(np.abs(right[np.isfinite(right)]).max(initial=0.0))
            limit = RTOL[str(wanted.dtype)] * (np.abs(right) + largest) + 2e-5
            limit = limit if noise is None else limit + TIMES * noise
            near = np.isfinite(left) & np.isfinite(right) & (np.abs(left - right) <= limit)
        different = ~(near | (left == right) | (np.isnan(left) & np.isnan(right)))
    if not different.any():
        return ""
    place = int(np.flatnonzero(different)[0])
    return (
        f"{int(different.sum())} of {different.size} elements, at {place} found {found.ravel()[place]!r}, "
        f"MXNet {wanted.ravel()[place]!r}"
    )


def _beyond_rounding(
    live: LiveNetworks, drawn: Drawn, wanted: Sequence[Array], roads: Mapping[str, Outcome]
) -> dict[str, Outcome]:
    """The roads again, where MXNet's results change by themselves when the inputs are rounded otherwise."""
    noise = [np.zeros(array.shape) for array in wanted]
    for turn in range(3):
        generator = np.random.Generator(np.random.PCG64(turn))
        moved = {name: _moved(array, drawn.half, generator) for name, array in drawn.arrays.items()}
        try:
            again = live(drawn.symbol, moved, drawn.onednn)
        except LiveError:
            return dict(roads)
        for slot, (now, before) in enumerate(zip(again, wanted, strict=True)):
            if before.dtype.kind == "f" and now.shape == before.shape:
                with np.errstate(all="ignore"):
                    apart = np.abs(now.astype(np.float64) - before.astype(np.float64))
                apart[np.isnan(apart)] = 0.0  # of what is not finite both times
                noise[slot] = np.maximum(noise[slot], apart.max(initial=0.0))
    return {
        name: compare(outcome.arrays, wanted, noise) if isinstance(outcome, Results) else outcome
        for name, outcome in roads.items()
    }


def _moved(array: Array, half: bool, generator: np.random.Generator) -> Array:
    if array.dtype.kind != "f":
        return array
    with np.errstate(all="ignore"):
        factors = 1 + ROUNDING[half or array.dtype == np.float16] * generator.uniform(-1, 1, array.shape)
        return (array.astype(np.float64) * factors).astype(array.dtype)


__all__ = ["ROADS", "LiveNetworks", "Verdict", "compare", "verdict"]

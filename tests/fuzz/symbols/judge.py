"""What becomes of a drawn symbol: live MXNet's numbers against those of the ONNX model and of the numpy reference."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from zipfile import BadZipFile

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import GraphirError
from graphir.graph import Graph
from tests.converters.pytorch.running import run_module
from tests.equivalence import activation, elementwise
from tests.equivalence.live import Live, LiveError
from tests.equivalence.rare import bitwise
from tests.fuzz.symbols.draw import Drawn
from tests.fuzz.symbols.recorded import OVERFLOWS, explained, overflowed

Array = NDArray[Any]

ELEMENT_BY_ELEMENT = frozenset(case.op for family in (elementwise, activation, bitwise) for case in family.CASES) - {
    "softmax", "softmin", "log_softmax", "SoftmaxActivation", "add_n", "amp_multicast",
}  # fmt: skip
RTOL = {"float16": 1e-2, "float32": 1e-3, "float64": 1e-3}
ATOL = {"float16": 2e-3, "float32": 2e-5, "float64": 2e-5}


class Kind(StrEnum):
    """What a road made of a symbol: `stopped` refuses values when it sees them, `crash` is anything unforeseen;
    `recorded` differs by what docs/mxnet-numbers.md says, and by nothing else."""

    EQUAL = "equal"
    RECORDED = "recorded"
    WRONG = "wrong"
    REFUSED = "refused"
    CRASH = "crash"
    STOPPED = "stopped"
    NO_KERNEL = "no kernel"
    UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Outcome:
    """A road's outcome, with what can be read about it."""

    kind: Kind
    text: str = ""

    @property
    def cause(self) -> str:
        """The text without the numbers of this case."""
        return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", self.text.splitlines()[-1] if self.text else "")[:160]


class PatientLive(Live):
    """Live MXNet that is ended when it hangs, as it does after a fault in a thread of its own.

    Seconds: an answer takes milliseconds and MXNet's start two seconds, of a machine that has nothing else to do."""

    PATIENCE = 20.0
    START = 60.0

    def run(self, symbol_json: str, arrays: Mapping[str, Array], internals: bool = False) -> dict[str, Array]:
        starts = self._child is None or self._child.poll() is not None
        timer = threading.Timer(self.START if starts else self.PATIENCE, self._end)
        timer.start()
        try:
            return super().run(symbol_json, arrays, internals)
        except (ValueError, BadZipFile) as error:  # the first part of an answer, of a process that was ended
            self._end()
            self._child = None
            raise LiveError(f"MXNet's process ended within an answer: {error}") from error
        finally:
            timer.cancel()

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()


class LiveMXNet:
    """MXNet with its plain operators, and a second one with oneDNN for cases that need it."""

    def __init__(self) -> None:
        self._plain, self._onednn = PatientLive(onednn=False), PatientLive(onednn=True)

    def __enter__(self) -> LiveMXNet:
        return self

    def __exit__(self, *_: object) -> None:
        self._plain.__exit__()
        self._onednn.__exit__()

    def __call__(self, drawn: Drawn) -> list[Array]:
        """The outputs. Raises LiveError where MXNet refuses the case, or does not survive it."""
        live = self._onednn if drawn.case.onednn else self._plain
        return list(live.run(drawn.symbol, drawn.values).values())

    def afresh(self, drawn: Drawn) -> list[Array]:
        """The outputs of a process that has computed nothing before: MXNet keeps oneDNN's primitives by the shapes and
        dtypes that they were made for, some of them with the scales of an earlier call. Raises LiveError as a call."""
        self._onednn.__exit__()
        return self(drawn)


@dataclass(frozen=True)
class Verdict:
    """Whether MXNet runs a case, and what the roads made of it; `torch` is unjudged unless it was requested."""

    runs: bool
    onnx: Outcome
    reference: Outcome
    torch: Outcome = Outcome(Kind.UNJUDGED)


def verdict(live: LiveMXNet, drawn: Drawn, *, torch: bool = False) -> Verdict:
    """All roads. What ends MXNet's process, a division of integers by 0 say, goes no other way."""
    try:
        wanted: list[Array] | None = live(drawn)
    except LiveError as error:
        if "process ended" in str(error):
            return Verdict(False, Outcome(Kind.UNJUDGED), Outcome(Kind.UNJUDGED))
        wanted = None
    result = _against(live, drawn, wanted, torch=torch)
    kinds = (result.onnx.kind, result.reference.kind, result.torch.kind)
    if wanted is not None and drawn.case.onednn and Kind.WRONG in kinds:
        result = _against(live, drawn, live.afresh(drawn), torch=torch)
    return result


def _against(live: LiveMXNet, drawn: Drawn, wanted: list[Array] | None, *, torch: bool) -> Verdict:
    wider = in_float32(live, drawn, wanted) if wanted is not None else None
    module = through_torch(drawn, wanted, wider) if torch and wanted is not None else Outcome(Kind.UNJUDGED)
    onnx, reference = through_onnx(drawn, wanted, wider), through_reference(drawn, wanted, wider)
    return Verdict(wanted is not None, onnx, reference, module)


def in_float32(live: LiveMXNet, drawn: Drawn, wanted: list[Array]) -> list[Array] | None:
    """MXNet's results with float32 in place of float16, where it has float16 ones that are not finite and makes them of
    several elements; None where not, and where it refuses that."""
    halves = [array for array in wanted if array.dtype == np.float16]
    if drawn.case.op in ELEMENT_BY_ELEMENT or all(np.isfinite(array).all() for array in halves):
        return None
    case = drawn.case
    wide = replace(
        case,
        attrs={name: "float32" if text == "float16" else text for name, text in case.attrs.items()},
        inputs=tuple(replace(each, dtype="float32") if each.dtype == "float16" else each for each in case.inputs),
    )
    values = {
        name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in drawn.values.items()
    }
    try:
        return live(Drawn(wide, values, drawn.wild))
    except LiveError:
        return None


def imported(drawn: Drawn) -> Graph:
    """The graph of a symbol. Raises GraphirError where it is refused."""
    case, values = drawn.case, drawn.values
    given, fed = case.variables("param", "aux"), case.variables("data", "label")
    graph = from_symbol(
        drawn.symbol,
        {name: values[name] for name in given},
        {name: values[name].shape for name in fed},
        dtypes={name: values[name].dtype for name in fed},
        strict=True,
    )
    graph.check()
    return graph


def through_onnx(drawn: Drawn, wanted: list[Array] | None, wider: list[Array] | None = None) -> Outcome:
    """The outcome of import, export and onnxruntime; `wider` is what MXNet has in float32 (`in_float32`)."""
    values = drawn.values
    try:
        graph = imported(drawn)
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
        found = session.run(None, {value.name: values[value.name] for value in graph.inputs})
    except Exception as error:
        return Outcome(Kind.STOPPED, f"{type(error).__name__}: {error}")
    return compare(drawn, found, wanted, "onnx", wider)


def through_torch(drawn: Drawn, wanted: list[Array], wider: list[Array] | None = None) -> Outcome:
    """The outcome of the PyTorch module, run in this process."""
    try:
        graph = imported(drawn)
        results, _ = run_module(graph, [drawn.values[value.name] for value in graph.inputs])
    except GraphirError as error:
        return Outcome(Kind.REFUSED, str(error))
    except Exception as error:  # a factorization refuses NaN by an error of its own
        kind = Kind.STOPPED if type(error).__name__ == "LinAlgError" else Kind.CRASH
        return Outcome(kind, f"{type(error).__name__}: {error}")
    return compare(drawn, results, wanted, "torch", wider)


def through_reference(drawn: Drawn, wanted: list[Array] | None, wider: list[Array] | None = None) -> Outcome:
    """The outcome of the numpy reference."""
    try:
        with np.errstate(all="ignore"):
            found = list(evaluate(read_symbol(drawn.symbol), drawn.values).values())
    except GraphirError as error:
        return Outcome(Kind.REFUSED, str(error))
    except Exception as error:
        return Outcome(Kind.CRASH, f"{type(error).__name__}: {error}")
    return Outcome(Kind.UNJUDGED) if wanted is None else compare(drawn, found, wanted, "reference", wider)


def compare(
    drawn: Drawn, found: list[Array], wanted: list[Array], road: str, wider: list[Array] | None = None
) -> Outcome:
    """Equal, recorded or wrong, output by output."""
    if len(found) != len(wanted):
        return Outcome(Kind.WRONG, f"{len(found)} outputs, MXNet has {len(wanted)}")
    reasons = []
    for slot, (mine, true) in enumerate(zip(found, wanted, strict=True)):
        beyond = None if wider is None or slot >= len(wider) else wider[slot]
        text, reason = _difference(drawn, np.asarray(mine), true, road, beyond)
        if text:
            return Outcome(Kind.WRONG, f"output {slot}: {text}")
        reasons += [reason] if reason else []
    return Outcome(Kind.RECORDED, "; ".join(reasons)) if reasons else Outcome(Kind.EQUAL)


def _largest(array: Array) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def _difference(drawn: Drawn, found: Array, wanted: Array, road: str, wider: Array | None) -> tuple[str, str]:
    """What is wrong, and what is recorded, each "" if nothing is."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"{found.dtype}{list(found.shape)}, MXNet {wanted.dtype}{list(wanted.shape)}", ""
    if wanted.dtype.kind != "f":
        different = found != wanted
    else:
        left, right = found.astype(np.float64), wanted.astype(np.float64)
        with np.errstate(all="ignore"):
            limit = RTOL[str(wanted.dtype)] * np.abs(right) + ATOL[str(wanted.dtype)]
            if drawn.case.op not in ELEMENT_BY_ELEMENT:
                limit = limit + RTOL[str(wanted.dtype)] * max(_largest(right), drawn.largest)
            near = np.isfinite(left) & np.isfinite(right) & (np.abs(left - right) <= limit)
        different = ~(near | (left == right) | (np.isnan(left) & np.isnan(right)))
    if not different.any():
        return "", ""
    places, reason = explained(drawn, road, found, wanted)
    different = different & ~places
    if wider is not None and different.any():
        more = overflowed(drawn, found, wanted, wider)
        reason = "; ".join(filter(None, (reason, OVERFLOWS if (more & different).any() else "")))
        different = different & ~more
    if not different.any():
        return "", reason
    place = int(np.flatnonzero(different)[0])
    return (
        f"{int(different.sum())} of {different.size} elements, at {place} found {found.ravel()[place]!r}, "
        f"MXNet {wanted.ravel()[place]!r}"
    ), ""

"""onnx's own backend suite through ONNX -> graph -> ONNX.

    python tests/onnx_backend.py [-v] [OPERATOR ...]

Of the models that onnxruntime gets right as they are, how many it still gets right after the round trip, and the others
by operator. Of those that it does not (mostly because their opset is too old or too new for it), how many it gets right
once they are written at an opset that it knows. With operators, only models that use one of them. Exit 1 if any is
lost.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend.test
import onnxruntime

from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.exporter import OLDEST_OPSET
from graphir.errors import GraphirError
from graphir.graph import Graph
from graphir.ops.foreign import Foreign

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # onnxruntime then tries the newest opsets too

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
NEWEST_IR = 13  # that onnxruntime 1.31 accepts; the suite states a newer one where nothing needs it
KNOWN_OPSETS = (26, 25, 24, 23, 21, 18, 13)  # of onnxruntime 1.31, newest first: where most operators changed
VERDICTS = ("right", "lost", "gained", "skipped")
DATA = Path(onnx.backend.test.__file__).parent / "data"


@dataclass(frozen=True)
class Sample:
    """One model of the suite with its data sets: what goes in, what must come out."""

    kind: str
    name: str
    model: Any
    data: Sequence[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float

    @property
    def operators(self) -> set[str]:
        """The operators that the model and its functions use."""
        nodes = [*self.model.graph.node, *(node for function in self.model.functions for node in function.node)]
        return {node.op_type for node in nodes}


@dataclass(frozen=True)
class Outcome:
    """`right`, `lost` (right before the round trip only), `gained` (right after it only) or `skipped` (never right).

    `text` says what is wrong: of a lost one after the round trip, of a skipped one before it.
    """

    sample: Sample
    verdict: str
    text: str = ""
    operator: str = ""


def samples(kinds: Sequence[str] = KINDS) -> Iterator[Sample]:
    """The models of the suite that ship in the onnx package."""
    from onnx.backend.test.loader import load_model_tests

    for kind in kinds:
        if kind == "light":
            yield from _light_samples()
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cases = load_model_tests(kind=kind)
        for case in cases:
            if case.model is not None:
                data = [(list(inputs), list(outputs)) for inputs, outputs in case.data_sets]
                yield Sample(kind, case.name, case.model, data, case.rtol, case.atol)
            else:
                folder = Path(case.model_dir)
                model = onnx.load(folder / "model.onnx")
                yield Sample(kind, case.name, model, _read_data(folder, model), case.rtol, case.atol)


def _light_samples() -> Iterator[Sample]:
    for path in sorted((DATA / "light").glob("*.onnx")):
        model = onnx.load(path)
        initializers = {tensor.name for tensor in model.graph.initializer}
        feeds = []
        for info in model.graph.input:
            if info.name not in initializers:
                shape = tuple(dim.dim_value or 1 for dim in info.type.tensor_type.shape.dim)
                count = int(np.prod(shape))
                feeds.append((np.arange(count).reshape(shape) / count).astype(np.float32))
        expected = onnx.TensorProto.FromString((path.parent / f"{path.stem}_output_0.pb").read_bytes())
        yield Sample("light", path.stem, model, [(feeds, [onnx.numpy_helper.to_array(expected)])], 1e-3, 1e-7)


def _read_data(folder: Path, model: Any) -> list[tuple[list[Any], list[Any]]]:
    found = []
    for place in sorted(folder.glob("test_data_set_*")):
        sides = []
        for side, infos in (("input", model.graph.input), ("output", model.graph.output)):
            paths = sorted(place.glob(f"{side}_*.pb"), key=lambda path: int(path.stem.rpartition("_")[2]))
            sides.append([_read(path, info.type) for path, info in zip(paths, infos, strict=False)])
        found.append((sides[0], sides[1]))
    return found


def _read(path: Path, type_: Any) -> Any:
    data, helper = path.read_bytes(), onnx.numpy_helper
    if type_.HasField("sequence_type"):
        return helper.to_list(onnx.SequenceProto.FromString(data))
    if type_.HasField("optional_type"):
        return helper.to_optional(onnx.OptionalProto.FromString(data))
    return helper.to_array(onnx.TensorProto.FromString(data))


def run(model: bytes, feeds: Sequence[Any], infos: Sequence[Any]) -> list[Any]:
    """The outputs from onnxruntime without optimisations; dtypes that numpy lacks go in and out as OrtValues."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {info.name: _feed(feed, info.type) for info, feed in zip(infos, feeds, strict=False)}
    if any(isinstance(feed, onnxruntime.OrtValue) for feed in given.values()) or _has_odd_output(session):
        values = {
            name: feed if isinstance(feed, onnxruntime.OrtValue) else onnxruntime.OrtValue.ortvalue_from_numpy(feed)
            for name, feed in given.items()
        }
        return [_array(value) for value in session.run_with_ort_values(None, values)]
    return list(session.run(None, given))


def _feed(feed: Any, type_: Any) -> Any:
    feed = onnx.numpy_helper.to_array(feed) if isinstance(feed, onnx.TensorProto) else feed
    feed = np.asarray(feed) if isinstance(feed, np.generic) else feed
    if _is_odd(feed):
        bits = feed.view(np.uint16 if feed.dtype.itemsize == 2 else np.uint8)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, type_.tensor_type.elem_type)
    return feed


def _has_odd_output(session: Any) -> bool:
    return any("bfloat16" in output.type or "float8" in output.type for output in session.get_outputs())


def _is_odd(array: Any) -> bool:
    """Whether numpy itself lacks the array's dtype."""
    return isinstance(array, np.ndarray) and array.dtype.type.__module__.startswith("ml_dtypes")


def _array(value: Any) -> Any:
    """The array of an OrtValue; one of a dtype that numpy lacks as its bits."""
    try:
        return value.numpy()
    except RuntimeError:
        width = np.uint16 if "bfloat16" in value.data_type() else np.uint8
        count = int(np.prod(value.shape(), dtype=np.int64))
        held = (ctypes.c_char * (count * np.dtype(width).itemsize)).from_address(value.data_ptr())
        return np.frombuffer(bytes(held), width).reshape(value.shape())


def differs(found: Any, expected: Any, rtol: float, atol: float) -> str:
    """What differs, "" if nothing does."""
    expected = onnx.numpy_helper.to_array(expected) if isinstance(expected, onnx.TensorProto) else expected
    if isinstance(expected, list) or isinstance(found, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return "a sequence of another length"
        return next(filter(None, (differs(a, b, rtol, atol) for a, b in zip(found, expected, strict=True))), "")
    if expected is None or found is None:
        return "" if found is expected else "one is absent"
    found, expected = np.asarray(found), np.asarray(expected)
    if _is_odd(expected) and found.dtype.itemsize == expected.dtype.itemsize:
        found = found.view(expected.dtype)
    if found.shape != expected.shape or (found.dtype != expected.dtype and not _is_text(expected)):
        return f"{found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if _is_text(expected):
        return "" if found.astype(str).tolist() == expected.astype(str).tolist() else "other texts"
    if expected.dtype.kind == "c":
        return "" if np.allclose(found, expected, rtol, atol, equal_nan=True) else "other numbers"
    close = np.isclose(found.astype(np.float64), expected.astype(np.float64), rtol, atol, equal_nan=True)
    return "" if close.all() else f"{int((~close).sum())} of {close.size} numbers differ"


def _is_text(array: Any) -> bool:
    return np.asarray(array).dtype.kind in "OUS"


def wrong(model: bytes, sample: Sample) -> str:
    """What onnxruntime gets wrong with this model on the sample's data, "" if nothing."""
    initializers = {tensor.name for tensor in sample.model.graph.initializer}
    infos = [info for info in sample.model.graph.input if info.name not in initializers]
    for feeds, expected in sample.data:
        try:
            found = run(model, feeds, infos)
        except Exception as error:  # onnxruntime raises errors of many kinds
            return str(error).splitlines()[0]
        if len(found) < len(expected):
            return f"{len(found)} outputs, expected {len(expected)}"
        for index, (value, wanted) in enumerate(zip(found, expected, strict=False)):
            text = differs(value, wanted, sample.rtol, sample.atol)
            if text:
                return f"output {index}: {text}"
    return ""


def _foreign(graph: Graph) -> str:
    for node in graph.nodes:
        if isinstance(node.op, Foreign) and node.op.foreign_domain in ("", "ai.onnx"):
            return node.op.operator_name
        found = next(filter(None, map(_foreign, node.subgraphs)), "")
        if found:
            return found
    return ""


def read(model: bytes) -> tuple[Graph, int]:
    """The graph and the opset to write it at: the model's, or the oldest there is. Refuses what is held as Foreign."""
    graph = from_model(model)
    graph.check()
    held = _foreign(graph)
    if held:
        raise GraphirError(f"{held} is held as Foreign")
    return graph, max(int(graph.metadata.get("onnx.opset:", OLDEST_OPSET)), OLDEST_OPSET)


def write(graph: Graph, opset: int) -> bytes:
    """The graph as ONNX."""
    return bytes(to_model(graph, opset=opset).SerializeToString())


def is_gained(model: bytes, sample: Sample) -> bool:
    """Whether onnxruntime gets it right at one of the opsets that it knows, none newer than the model's own."""
    try:
        graph, own = read(model)
    except GraphirError:
        return False
    return any(_is_right(graph, opset, sample) for opset in KNOWN_OPSETS if opset <= own)


def _is_right(graph: Graph, opset: int, sample: Sample) -> bool:
    try:
        return not wrong(write(graph, opset), sample)
    except GraphirError:
        return False


def judge(sample: Sample) -> Outcome:
    """Run a sample as it is, and after the round trip."""
    sample.model.ir_version = min(sample.model.ir_version, NEWEST_IR)
    data = sample.model.SerializeToString()
    text = wrong(data, sample)
    if text:
        return Outcome(sample, "gained" if is_gained(data, sample) else "skipped", text)
    operator = max(sample.operators, key=lambda name: (name.lower() in sample.name.replace("_", ""), len(name)))
    try:
        again = write(*read(data))
    except GraphirError as error:
        gaps = getattr(error, "gaps", ())
        return Outcome(sample, "lost", f"{type(error).__name__}: {error}", gaps[0].operator if gaps else operator)
    except Exception as error:  # a defect of graphir: counted, not fatal
        return Outcome(sample, "lost", f"DEFECT {type(error).__name__}: {error}", operator)
    text = wrong(again, sample)
    return Outcome(sample, "lost" if text else "right", text, operator)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; 1 if a model was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("-v", "--verbose", action="store_true", help="the text of every loss")
    parser.add_argument("--name", default="", help="only models whose name contains this")
    options = parser.parse_args(arguments)
    wanted = set(options.operators)
    chosen = (
        sample
        for sample in samples()
        if (not wanted or wanted & sample.operators) and options.name in sample.name
    )
    outcomes = [judge(sample) for sample in chosen]
    counts = Counter((outcome.sample.kind, outcome.verdict) for outcome in outcomes)
    for kind in KINDS:
        right, lost, gained, skipped = (counts[kind, verdict] for verdict in VERDICTS)
        print(f"{kind:18} {right:5} right of {right + lost:5}; of {gained + skipped} others {gained} right afterwards")
    lost_ones = [outcome for outcome in outcomes if outcome.verdict == "lost"]
    by_operator: dict[str, list[Outcome]] = {}
    for outcome in lost_ones:
        by_operator.setdefault(outcome.operator, []).append(outcome)
    for operator, group in sorted(by_operator.items(), key=lambda entry: -len(entry[1])):
        first = group[0]
        print(f"  {operator}: {len(group)} ({first.sample.name}: {' '.join(first.text.split())[:160]})")
        for outcome in group if options.verbose else ():
            print(f"    {outcome.sample.name}: {' '.join(outcome.text.split())[:400]}")
    totals = Counter(outcome.verdict for outcome in outcomes)
    print(", ".join(f"{totals[verdict]} {verdict}" for verdict in VERDICTS))
    return 1 if lost_ones else 0


if __name__ == "__main__":
    sys.exit(main())

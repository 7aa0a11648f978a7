"""onnx's own backend suite through ONNX -> graph -> ONNX.

    python tests/onnx_backend.py [-v] [OPERATOR ...]

Of the models that onnxruntime gets right as they are, how many it still gets right after the round trip, and the others
by operator. Of those that it runs with other numbers than the suite states (random ones, and those with an error above
the suite's tolerance), how many give the same numbers after the round trip. Of those that it does not run (mostly
because their opset is too old or too new for it), how many it gets right once they are written at an opset that it
knows, and of the rest how many give in onnx's own reference what they gave before. With operators, only models that use
one of them. Exit 1 if any is lost.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import locale
import os
import re
import shutil
import subprocess
import sys
import tempfile
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
from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET
from graphir.errors import GraphirError
from graphir.graph import Graph
from graphir.ops.foreign import Foreign
from tests.typed import present

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # onnxruntime then tries the newest opsets too

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
NEWEST_IR = 13  # that onnxruntime 1.31 accepts; the suite states a newer one where nothing needs it
KNOWN_OPSETS = (26, 25, 24, 23, 21, 18, 13)  # of onnxruntime 1.31, newest first: where most operators changed
VERDICTS = ("right", "same", "lost", "gained", "reference", "skipped")
RANDOM = {"Bernoulli", "RandomUniformLike"}  # without a seed, so that no two runs of the reference agree
WITHOUT_ARRAY = re.compile("bfloat16|float8|float4|int4|int2")  # element types that onnxruntime gives no numpy array of
TEXT_LOCALE = "en_US.UTF-8"  # that onnxruntime asks the system for when it changes the case of texts
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
    """`right`; `same` (not what the suite states, but the same before and after the round trip); `lost` (right or the
    same before the round trip only); `gained` (right after it only); `reference` (not for onnxruntime, but the same
    before and after in onnx's reference); `skipped` (for neither).

    `text` says what is wrong: of a lost one after the round trip, of the others before it.
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
                data = [(list(inputs), list(outputs)) for inputs, outputs in present(case.data_sets)]
                yield Sample(kind, case.name, case.model, data, case.rtol, case.atol)
            else:
                folder = Path(present(case.model_dir))
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
    onnxruntime.set_seed(0)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {info.name: _feed(feed) for info, feed in zip(infos, feeds, strict=False)}
    has_odd_output = any(WITHOUT_ARRAY.search(output.type) for output in session.get_outputs())
    if any(isinstance(feed, onnxruntime.OrtValue) for feed in given.values()) or has_odd_output:
        values = {
            name: feed if isinstance(feed, onnxruntime.OrtValue) else onnxruntime.OrtValue.ortvalue_from_numpy(feed)
            for name, feed in given.items()
        }
        return [_array(value) for value in session.run_with_ort_values(None, values)]
    return list(session.run(None, given))


def _feed(feed: Any) -> Any:
    """What onnxruntime takes: an array, or an OrtValue of the stored bytes (elements below a byte lie packed)."""
    feed = onnx.numpy_helper.to_array(feed) if isinstance(feed, onnx.TensorProto) else feed
    feed = np.asarray(feed) if isinstance(feed, np.generic) else feed
    if not isinstance(feed, np.ndarray) or not feed.dtype.type.__module__.startswith("ml_dtypes"):
        return feed
    stored = onnx.numpy_helper.from_array(feed)
    held = np.zeros(feed.shape, np.uint16 if feed.dtype.itemsize == 2 else np.uint8)
    held.reshape(-1).view(np.uint8)[: len(stored.raw_data)] = np.frombuffer(stored.raw_data, np.uint8)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(held, stored.data_type)


def _array(value: Any) -> Any:
    """The array of an OrtValue, its bytes read by onnx where onnxruntime gives no array."""
    if not WITHOUT_ARRAY.search(value.data_type()):
        return value.numpy()
    held = (ctypes.c_char * value.tensor_size_in_bytes()).from_address(value.data_ptr())
    stored = onnx.TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=bytes(held))
    return onnx.numpy_helper.to_array(stored)


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


def results(model: bytes, sample: Sample) -> list[list[Any]]:
    """What onnxruntime gives for each of the sample's data sets."""
    initializers = {tensor.name for tensor in sample.model.graph.initializer}
    infos = [info for info in sample.model.graph.input if info.name not in initializers]
    return [run(model, feeds, infos) for feeds, _ in sample.data]


def wrong(model: bytes, sample: Sample, expected: Sequence[Sequence[Any]] | None = None) -> str:
    """What onnxruntime gets wrong with this model on the sample's data, "" if nothing. `expected`: the suite's results
    unless others are given."""
    try:
        found = results(model, sample)
    except Exception as error:  # onnxruntime raises errors of many kinds
        return str(error).splitlines()[0]
    return mistakes(found, sample, expected)


def mistakes(found: Sequence[Sequence[Any]], sample: Sample, expected: Sequence[Sequence[Any]] | None = None) -> str:
    """What is wrong with results, "" if nothing."""
    wanted = [outputs for _, outputs in sample.data] if expected is None else expected
    return next(filter(None, (_difference(a, b, sample) for a, b in zip(found, wanted, strict=True))), "")


def _difference(found: Sequence[Any], expected: Sequence[Any], sample: Sample) -> str:
    if len(found) < len(expected):
        return f"{len(found)} outputs, expected {len(expected)}"
    for index, (value, wanted) in enumerate(zip(found, expected, strict=False)):
        text = differs(value, wanted, sample.rtol, sample.atol)
        if text:
            return f"output {index}: {text}"
    return ""


def provide_locale() -> bool:
    """Make the locale that onnxruntime changes the case of texts in, where the system lacks it; whether it is there."""
    if _has_locale() or shutil.which("localedef") is None:
        return _has_locale()
    folder = tempfile.mkdtemp(prefix="locales-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name, _, encoding = TEXT_LOCALE.partition(".")
    subprocess.run(["localedef", "-i", name, "-f", encoding, f"{folder}/{TEXT_LOCALE}"], capture_output=True)
    os.environ["LOCPATH"] = f"{folder}:/usr/lib/locale"
    return _has_locale()


def _has_locale() -> bool:
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, TEXT_LOCALE)
    except locale.Error:
        return False
    locale.setlocale(locale.LC_CTYPE, before)
    return True


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


def _judge_without_onnxruntime(data: bytes, sample: Sample, text: str) -> Outcome:
    if is_gained(data, sample):
        return Outcome(sample, "gained", text)
    try:
        before = _referred(sample.model, sample)
    except Exception:  # the reference lacks operators too, and raises errors of many kinds
        return Outcome(sample, "skipped", text)
    try:
        again = onnx.load_from_string(write(*read(data)))
        found = mistakes(_referred(again, sample), sample, before)
    except Exception as error:  # of graphir or of the reference: either way something is lost
        found = f"{type(error).__name__}: {error}"
    if not found:
        return Outcome(sample, "reference", text)
    return Outcome(sample, "skipped" if sample.operators & RANDOM else "lost", found, "in onnx's reference")


def _referred(model: Any, sample: Sample) -> list[list[Any]]:
    """What onnx's reference gives for each of the sample's data sets."""
    from onnx.reference import ReferenceEvaluator

    weights = {tensor.name for tensor in sample.model.graph.initializer}
    names = [info.name for info in sample.model.graph.input if info.name not in weights]
    evaluator = ReferenceEvaluator(model)
    with np.errstate(all="ignore"):
        return [
            list(evaluator.run(None, {name: _plain(feed) for name, feed in zip(names, feeds, strict=False)}))
            for feeds, _ in sample.data
        ]


def _plain(feed: Any) -> Any:
    return onnx.numpy_helper.to_array(feed) if isinstance(feed, onnx.TensorProto) else feed


def judge(sample: Sample) -> Outcome:
    """Run a sample as it is, and after the round trip."""
    sample.model.ir_version = min(sample.model.ir_version, NEWEST_IR)
    data = sample.model.SerializeToString()
    try:
        before = results(data, sample)
    except Exception as error:  # onnxruntime raises errors of many kinds
        return _judge_without_onnxruntime(data, sample, str(error).splitlines()[0])
    mistaken = mistakes(before, sample)
    operator = max(sample.operators, key=lambda name: (name.lower() in sample.name.replace("_", ""), len(name)))
    try:
        again = write(*read(data))
    except GraphirError as error:
        gaps = getattr(error, "gaps", ())
        return Outcome(sample, "lost", f"{type(error).__name__}: {error}", gaps[0].operator if gaps else operator)
    except Exception as error:  # a defect of graphir: counted, not fatal
        return Outcome(sample, "lost", f"DEFECT {type(error).__name__}: {error}", operator)
    text = wrong(again, sample, before if mistaken else None)
    if text:
        return Outcome(sample, "lost", text, operator)
    return Outcome(sample, "same" if mistaken else "right", mistaken, operator)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; 1 if a model was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("-v", "--verbose", action="store_true", help="the text of every loss")
    parser.add_argument("--name", default="", help="only models whose name contains this")
    options = parser.parse_args(arguments)
    if not provide_locale():
        print(f"without the locale {TEXT_LOCALE}: onnxruntime cannot change the case of texts")
    wanted = set(options.operators)
    chosen = (
        sample
        for sample in samples()
        if (not wanted or wanted & sample.operators) and options.name in sample.name
    )
    outcomes = [judge(sample) for sample in chosen]
    counts = Counter((outcome.sample.kind, outcome.verdict) for outcome in outcomes)
    for kind in KINDS:
        right, same, lost, gained, reference, skipped = (counts[kind, verdict] for verdict in VERDICTS)
        print(
            f"{kind:18} {right:5} right and {same:2} the same of {right + same + lost:5}; of "
            f"{gained + reference + skipped} others {gained} right afterwards, {reference} the same in onnx's reference"
        )
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

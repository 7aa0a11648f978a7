"""onnx's own backend suite through ONNX -> graph -> MXNet, executed by live MXNet 1.9.1.

    python tests/onnx_backend_mxnet.py [-v] [--name TEXT] [--write] [OPERATOR ...]

How many models live MXNet computes right, as they are and with the inputs bound that MXNet wants as attributes (axes,
shapes, k, ...), and the others by reason. With operators, only models that use one of them. `--write` writes the table
of all cases that do not pass; `--back` tries ONNX -> graph -> MXNet -> graph -> ONNX in onnxruntime instead.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented, RuntimeException  # noqa: A004

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.onnx import from_model, to_model
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.ops import shape
from graphir.passes.bind import bind_inputs
from graphir.types import TensorType
from tests.equivalence.live import LiveError, LivePair
from tests.onnx_backend import KINDS, NEWEST_IR, Sample, run, samples, wrong

TABLE = Path(__file__).resolve().parents[1] / "docs" / "onnx-suite-in-mxnet.md"
PASSING = ("as is", "bound")
VERDICTS = (*PASSING, "refused", "fails", "wrong", "DEFECT")
DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
ATTRIBUTES = {
    "Clip": {1, 2},
    "CumProd": {1},
    "CumSum": {1},
    "Dropout": {1, 2},
    "If": {0},
    "Loop": {0, 1},
    "MelWeightMatrix": {2, 3, 4},
    "OneHot": {1, 2},
    "Pad": {1, 2, 3},
    "Resize": {1, 2, 3},
    "Trilu": {1},
    "Upsample": {1},
}
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
LONGEST = 300
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a sample: a verdict, the reason if it does not pass, and the inputs that were bound.

    `as is` and `bound` pass; `refused`: graphir says that MXNet cannot express it; `fails`: live MXNet cannot run what
    was written; `wrong`: it gives other outputs; `DEFECT`: an error that is none of graphir's own.
    """

    sample: Sample
    verdict: str
    reason: str = ""
    bound: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The outcome as the table has it."""
        sample = f"{self.sample.kind} | {self.sample.name}"
        if self.passes:
            return f"| {sample} | {', '.join(self.bound)} |"
        reason = re.sub(r"\d+ of (\d+) numbers differ", r"some of \1 numbers differ", self.reason)
        return f"| {sample} | {self.verdict}: {reason.replace('|', '/')} |"

    @property
    def passes(self) -> bool:
        """Whether live MXNet gave the suite's outputs."""
        return self.verdict in PASSING


@dataclass(frozen=True)
class Written:
    """A sample as MXNet symbol: its JSON text, its parameters by plain name, the dtypes of its variables."""

    graph: Graph
    text: str
    params: dict[str, Array]
    variables: dict[str, str]
    bound: tuple[str, ...]


Result = TypeVar("Result")
Road = Callable[[Written, dict[str, Array]], list[Array]]


def write(sample: Sample) -> Written:
    """The sample as it is; if MXNet wants some of its inputs as attributes, with those bound to the sample's data.

    Raises GraphirError if it cannot be written.
    """
    data = sample.model.SerializeToString()
    graph = from_model(data)
    try:
        return _write(graph, ())
    except GraphirError as error:
        names = attribute_inputs(graph)
        if not names or len(sample.data) != 1:
            raise
        feeds = _feeds(sample, 0)
        graph = from_model(data)
        bound = {name: feeds[name] for name in names if name in feeds}
        try:
            bind_inputs(graph, bound)
            return _write(graph, tuple(bound))
        except GraphirError as second:
            raise second from error


def _write(graph: Graph, bound: tuple[str, ...]) -> Written:
    text, params = to_symbol(graph)
    variables = {
        node["name"]: DTYPES[int(node.get("attrs", {}).get("__dtype__", 0))]
        for node in json.loads(text)["nodes"]
        if node["op"] == "null"
    }
    return Written(graph, text, {name.partition(":")[2]: array for name, array in params.items()}, variables, bound)


def in_live_mxnet(runner: LivePair) -> Road:
    """The symbol executed by live MXNet."""
    return lambda written, feeds: list(runner.run(written.text, {**written.params, **feeds}).values())


def read_again(written: Written, feeds: dict[str, Array]) -> list[Array]:
    """The symbol as this project reads it, written as ONNX and executed by onnxruntime without optimisations."""
    shapes = {name: array.shape for name, array in feeds.items()}
    dtypes = {name: array.dtype for name, array in feeds.items()}
    model = to_model(from_symbol(written.text, dict(written.params), shapes, dtypes=dtypes, strict=True))
    return run(model.SerializeToString(), list(feeds.values()), _infos(model, feeds))


def _infos(model: Any, feeds: Mapping[str, Array]) -> list[Any]:
    infos = {info.name: info for info in model.graph.input}
    return [infos[name] for name in feeds]


def judge(sample: Sample, road: Road) -> Outcome:
    """Write a sample and go the road with it on the sample's data."""
    return follow(sample, attempt(sample), road)


def attempt(sample: Sample) -> Written | Outcome:
    """The sample written, for any number of roads, or why it cannot be."""
    return _guarded(sample, lambda: write(sample))


def follow(sample: Sample, made: Written | Outcome, road: Road) -> Outcome:
    """Go the road with what was made of a sample, on the sample's data."""
    return made if isinstance(made, Outcome) else _guarded(sample, lambda: _judge(sample, made, road))


def _guarded(sample: Sample, step: Callable[[], Result]) -> Result | Outcome:
    """What the step gives, or the outcome that its error is."""
    try:
        return step()
    except GraphirError as error:
        return Outcome(sample, "refused", reason_of(error))
    except Exception as error:  # a defect of graphir: counted, not fatal
        return Outcome(sample, "DEFECT", f"{type(error).__name__}: {error}")


def _judge(sample: Sample, written: Written, road: Road) -> Outcome:
    widened = {decision.node for decision in written.graph.decisions if decision.kind == "dtype"}
    for index, (_, expected) in enumerate(sample.data):
        given, feeds = _feeds(sample, index), dict[str, Array]()
        for name, dtype in written.variables.items():
            if name not in written.params:
                feeds[name] = given[name].astype(dtype)
                if not _is_same(feeds[name].astype(given[name].dtype), given[name]):
                    return Outcome(sample, "wrong", f"the input {name} does not fit {dtype}", written.bound)
        try:
            found = road(written, feeds)
        except (LiveError, RuntimeException, NotImplemented) as error:
            return Outcome(sample, "fails", _last_line(str(error)), written.bound)
        if len(found) < len(expected):
            return Outcome(sample, "wrong", f"{len(found)} outputs, expected {len(expected)}", written.bound)
        for value, array, wanted in zip(written.graph.outputs, found, expected, strict=False):
            difference = differs(array, wanted, sample.rtol, sample.atol, value.name in widened)
            if difference and not sample.operators & RANDOM:
                reason = f"{value.name}: {difference}{_in_onnxruntime(sample)}"
                return Outcome(sample, "wrong", reason, written.bound)
    if sample.operators & RANDOM:  # which may agree by chance
        return Outcome(sample, "wrong", "its numbers are drawn at random", written.bound)
    return Outcome(sample, "bound" if written.bound else "as is", "", written.bound)


def _in_onnxruntime(sample: Sample) -> str:
    """That onnxruntime gives other numbers than the suite too, if it does."""
    sample.model.ir_version = min(sample.model.ir_version, NEWEST_IR)
    ours = wrong(sample.model.SerializeToString(), sample)
    return "; those of onnxruntime do too" if ours.startswith("output") else ""


def _feeds(sample: Sample, index: int) -> dict[str, Array]:
    """The data of one set by input name."""
    initializers = {tensor.name for tensor in sample.model.graph.initializer}
    names = [info.name for info in sample.model.graph.input if info.name not in initializers]
    return {name: _array(feed) for name, feed in zip(names, sample.data[index][0], strict=False)}


def _array(value: Any) -> Array:
    return np.asarray(onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value)


def _is_same(left: Array, right: Array) -> bool:
    return bool(((left == right) | ((left != left) & (right != right))).all())


def differs(found: Array, expected: Any, rtol: float, atol: float, widened: bool) -> str:
    """What differs, "" if nothing does. Integers and truths are compared exactly; dtypes must agree unless widened."""
    expected = _array(expected)
    if found.shape != expected.shape or (found.dtype != expected.dtype and not widened):
        return f"{found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind in "biu" or expected.dtype.name in ("int4", "uint4", "int2", "uint2"):
        count = int((found.astype(object) != expected.astype(object)).sum())
        return f"{count} of {expected.size} numbers differ" if count else ""
    left, right = found.astype(np.float64), expected.astype(np.float64)
    far = ~np.isclose(left, right, rtol, atol, equal_nan=True)
    if not far.any():
        return ""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(np.abs(left - right)[far] / np.abs(right)[far], nan=np.inf).max()
    how = next((f"by less than {limit:.1%}" for limit in (0.002, 0.02) if share < limit), "by more than 2.0%")
    return f"{int(far.sum())} of {expected.size} numbers differ, {how}"


def attribute_inputs(graph: Graph) -> list[str]:
    """The inputs of at most one axis that decide what MXNet takes as attributes: shapes, axes, bounds, k."""
    found: dict[str, None] = {}
    for node in _all_nodes(graph):
        slots = set(node.op.reads) | ATTRIBUTES.get(node.op.name, set())
        for slot in slots:
            if slot < len(node.inputs):
                found.update(dict.fromkeys(_origins(node.inputs[slot])))
    return list(found)


def _all_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the graphs inside it."""
    for node in graph.nodes:
        yield node
        for inner in node.subgraphs:
            yield from _all_nodes(inner)


def _origins(value: Value | None) -> list[str]:
    """The graph's inputs of at most one axis that a value is computed of; sizes of tensors are no elements."""
    if value is None or not isinstance(value.type, TensorType):
        return []
    producer: Node | None = value.producer
    if producer is None:
        return [value.name] if value in value.graph.inputs and value.rank in (0, 1) else []
    if isinstance(producer.op, shape.Shape | shape.Size):
        return []
    inside = [value for inner in producer.subgraphs for value in inner.outputs]
    return [name for operand in (*producer.inputs, *inside) for name in _origins(operand)]


def reason_of(error: GraphirError) -> str:
    """The reasons of an error, one line."""
    gaps = getattr(error, "gaps", ())
    if gaps:
        return _short("; ".join(dict.fromkeys(f"{gap.operator}: {gap.reason}" for gap in gaps)))
    return _last_line(str(error))


def _last_line(text: str) -> str:
    """The line that says what happened, without the time of day."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _short(re.sub(r"\[\d\d:\d\d:\d\d\] ", "", lines[-1])) if lines else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


GROUPS = (
    ("sequences, optionals", r"MXNet has tensors only|is optional\(|OptionalHasElement|OptionalGetElement"),
    ("strings", r"tensors of string|StringNormalizer|StringSplit|RegexFullMatch|TfIdf"),
    ("a dtype that MXNet does not have", r"MXNet has no tensors of|float8e8m0"),
    ("training and random numbers", r"at random|Foreign|only inference"),
    ("sizes that depend on elements", r"depends on (its|the)|(are|is) open|not written, and the node stays"),
    ("done outside of symbols in MXNet", r"outside of symbols"),
    ("no such operator in MXNet", r"MXNet has no such operator|MXNet has no operator"),
    ("written, but live MXNet cannot run it", r"^fails: "),
    ("written, but live MXNet gives other digits", r"^wrong: "),
)


def group_of(outcome: Outcome) -> str:
    """The group of reasons that the reason of a case that does not pass belongs to."""
    text = f"{outcome.verdict}: {outcome.reason}"
    if outcome.verdict in ("wrong", "fails") and "at random" not in text:
        return next(group for group, pattern in GROUPS[-2:] if re.search(pattern, text))
    return next((group for group, pattern in GROUPS if re.search(pattern, text)), "others")


def table(outcomes: Sequence[Outcome]) -> str:
    """The page of all outcomes: counts, what does not pass and why, what passes with inputs bound."""
    counts = Counter((outcome.sample.kind, outcome.verdict) for outcome in outcomes)
    failed = [outcome for outcome in outcomes if not outcome.passes]
    bound = [outcome for outcome in outcomes if outcome.verdict == "bound"]
    groups = Counter(map(group_of, failed))
    passed = len(outcomes) - len(failed)
    lines = [
        "# onnx's own backend suite in MXNet",
        "",
        f"{passed} of the {len(outcomes)} models that onnx {onnx.__version__} ships for its backends give the suite's "
        "outputs, within the suite's",
        "own tolerances, when they are read by graphir, written as MXNet symbols and executed by live MXNet 1.9.1: "
        f"{passed - len(bound)} as they",
        f"are, {len(bound)} with inputs bound to the sample's data (`graphir.convert(..., constants=...)`) that MXNet "
        "takes as attributes.",
        "Integers and truths are compared exactly. A dtype that MXNet does not have becomes the wider one,",
        "which is compared by value and stands among the conversion's decisions.",
        "",
        "This page is written by `python tests/onnx_backend_mxnet.py --write`; a test fails when it is stale.",
        "",
        "| kind | as is | bound | do not pass |",
        "|---|---:|---:|---:|",
    ]
    for kind in KINDS:
        missing = sum(counts[kind, verdict] for verdict in VERDICTS if verdict not in PASSING)
        lines.append(f"| {kind} | {counts[kind, 'as is']} | {counts[kind, 'bound']} | {missing} |")
    lines += ["", "## Why cases do not pass", "", "| reason | cases |", "|---|---:|"]
    lines += [f"| {group} | {count} |" for group, count in groups.most_common()]
    lines += ["", "## Cases that do not pass", "", "| kind | case | what is missing |", "|---|---|---|"]
    lines += [outcome.line for outcome in failed]
    lines += ["", "## Cases that pass with inputs bound", "", "| kind | case | inputs |", "|---|---|---|"]
    lines += [outcome.line for outcome in bound]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; 1 if live MXNet gives other numbers than the suite, or graphir has a defect."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("-v", "--verbose", action="store_true", help="every case that does not pass")
    parser.add_argument("--name", default="", help="only models whose name contains this")
    parser.add_argument("--kind", default="", choices=("", *KINDS), help="only models of this kind")
    parser.add_argument("--back", action="store_true", help="read the symbols back instead, and run them as ONNX")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}; needs the whole suite")
    options = parser.parse_args(arguments)
    wanted = set(options.operators)
    if options.write and (wanted or options.name or options.kind or options.back):
        parser.error("--write needs the whole suite in live MXNet")
    chosen = [
        sample
        for sample in samples([options.kind] if options.kind else KINDS)
        if (not wanted or wanted & sample.operators) and options.name in sample.name
    ]
    with LivePair() as runner:
        road = read_again if options.back else in_live_mxnet(runner)
        outcomes = [judge(sample, road) for sample in chosen]
    show(outcomes, verbose=options.verbose)
    if options.write:
        TABLE.write_text(table(outcomes), encoding="ascii")
    return 1 if any(outcome.verdict in ("wrong", "DEFECT") for outcome in outcomes) else 0


def show(outcomes: Sequence[Outcome], *, verbose: bool) -> None:
    """Print the counts by kind and by reason."""
    counts = Counter((outcome.sample.kind, outcome.verdict) for outcome in outcomes)
    for kind in KINDS:
        if any(key[0] == kind for key in counts):
            print(f"{kind:18}", ", ".join(f"{counts[kind, verdict]} {verdict}" for verdict in VERDICTS))
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if not outcome.passes:
            groups.setdefault((outcome.verdict, outcome.reason), []).append(outcome)
    for (verdict, reason), group in sorted(groups.items(), key=lambda entry: -len(entry[1])):
        print(f"{len(group):5} {verdict}: {reason[:180]} ({group[0].sample.name})")
        for outcome in group if verbose else ():
            print(f"        {outcome.sample.name}")
    passed = Counter(outcome.verdict for outcome in outcomes)
    print(f"{passed['as is']} as is + {passed['bound']} with inputs bound of {len(outcomes)}")


if __name__ == "__main__":
    sys.exit(main())

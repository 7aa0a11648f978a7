"""`to_half`: a graph in float16 or bfloat16."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from graphir.decisions import Decision, DecisionKind
from graphir.errors import ArgumentError
from graphir.graph import Graph, Node
from graphir.safety.arguments import expect, expect_items, expect_mapping
from graphir.structure.record import record
from graphir.structure.store import REWRITTEN
from graphir.types import DType

from .choice import WIDE, HalfChoice
from .numbers import form_of
from .rebuild import Rebuilder, parameter_bytes

HALF = ("float16", "bfloat16")

@record
class HalfOptions:
    """What `to_half` makes: in which dtype, whether inputs and outputs have it too (`io`; else they stay float32), and
    the layers that stay float32 by name, with * and ? for parts of it.

    Raises ArgumentError for another dtype.
    """

    dtype: str
    io: bool = False
    keep: Sequence[str] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if expect(self.dtype, str, "dtype") not in HALF:
            raise ArgumentError(f"dtype={self.dtype!r}: a model is converted to {' or '.join(HALF)}")
        expect(self.io, bool, "io")
        expect_items(self.keep, str, "the layers that stay float32", "a name")


def to_half(graph: Graph, options: HalfOptions | str, measured: Mapping[str, float] | None = None) -> Graph:
    """Return a new graph that computes in float16 or bfloat16 where that is safe; `graph` stays as it is.

    Weights and activations of float32 become narrow, other dtypes stay. A layer stays float32 where the numbers that
    enter or leave it do not fit: weights, which are looked at one by one, and activations as far as `measured` knows
    them (the largest finite magnitude by value's name; `verification.ranges.measure` finds them). So do operators that
    sum, divide by roots, exponentiate, compute places or compare; what `options.keep` names; and, with narrow weights,
    what onnxruntime has no kernel for. The values that enter and leave the graphs of If, Loop and Scan stay float32.
    Each choice is a decision of the result. Weights are converted when they are written, one at a time. Linear in nodes
    and elements. Raises ArgumentError for a name in `options.keep` that no layer has.
    """
    if isinstance(options, str):
        options = HalfOptions(options)
    expect(graph, Graph, "the graph to convert")
    measurements = expect_mapping(measured or {}, "the measured numbers")
    choice = HalfChoice(graph, form_of(DType(options.dtype)), measurements, options.keep, options.io)
    unmatched = [glob for glob in options.keep if glob not in choice.matched]
    if unmatched:
        raise ArgumentError(f"no layer that takes float32 is called {', '.join(unmatched)} (see `graphir layers`)")
    builder = Rebuilder(graph, choice)
    converted = builder.build(graph)
    converted.metadata[REWRITTEN] = options.dtype
    dtype, narrow = choice.form.dtype, sum(value.dtype is choice.form.dtype for value in converted.parameters)
    before, after = (
        parameter_bytes([value.tensor for value in each.parameters if value.tensor is not None])
        for each in (graph, converted)
    )
    ranges = "the ranges of activations were measured" if measurements else "no activation was measured"
    _decide(
        converted, DecisionKind.HALF_PRECISION, "-",
        f"converted to {dtype}: {narrow} of {converted.parameter_count} parameters, {before} bytes became {after}; "
        f"{builder.casts} Casts were added; {ranges}",
    )  # fmt: skip
    for name, reason in _wide_layers(graph, choice, builder, options):
        _decide(converted, DecisionKind.KEPT_FLOAT32, name, reason)
    return converted


def _wide_layers(
    graph: Graph, choice: HalfChoice, builder: Rebuilder, options: HalfOptions
) -> Iterator[tuple[str, str]]:
    """Yield what stayed float32 by name, and why."""
    for node, kept in choice.kept.items():
        if kept.is_reported:
            yield _label(node), f"{node.op.name} stays float32: {kept.reason}"
    for value in (*graph.inputs, *graph.outputs) if options.io else ():
        reason = choice.why_wide_end(value) if value.dtype is WIDE else ""
        if reason:
            yield value.name, f"{value.name} stays float32: {reason}"
    for node, text in builder.refused:
        yield _label(node), text


def _label(node: Node) -> str:
    return node.name or node.outputs[0].name


def _decide(graph: Graph, kind: DecisionKind, node: str, text: str) -> None:
    graph.decisions.append(Decision(kind, node, text))

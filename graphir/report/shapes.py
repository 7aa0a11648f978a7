"""The types of a model's values, and the shapes of two models side by side, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line
from graphir.structure.look import Painted, Style, verdict

from .text import plural, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.shape_comparison import ShapePair
    from graphir.graph import Graph, Value
    from graphir.types import Type


SHOWN = 20
VERDICTS = {
    "same": "",
    "layout": "other layout",
    "open": "dynamic sizes",
    "differs": "DIFFERS",
    "alone": "no counterpart",
}


def agree(pairs: Sequence[ShapePair]) -> bool:
    """Return whether no two layers that belong together differ in shape. Layers without a counterpart are no
    difference."""
    return not any(pair.verdict == "differs" for pair in pairs)


def shapes_text(pairs: Sequence[ShapePair], left: str, right: str, *, verbose: bool = False) -> str:
    """Return the outcome, the first layer that differs, and a table: of all layers if `verbose`, else of those that
    differ."""
    differing = [pair for pair in pairs if pair.verdict == "differs"]
    both = sum(pair.verdict != "alone" for pair in pairs)
    if differing:
        first = differing[0]
        assert first.left is not None
        said = f"{len(differing)} of {plural(both, 'layer')} that both models have"
        lines = [verdict(f"DIFFERENT: {said}; the first is {one_line(first.left.name)}")]
    else:
        lines = [verdict(f"same: {plural(both, 'layer')} of both models have the same shapes")]
    lines += [f"  first   {one_line(left)}", f"  second  {one_line(right)}"]
    shown = pairs if verbose else differing[:SHOWN]
    if shown:
        rows = [
            (*_cells(pair.left), *_cells(pair.right), _word(pair.verdict)) for pair in shown
        ]
        lines += ["", table(("first", "shape", "second", "shape", ""), rows)]
    if not verbose and len(differing) > SHOWN:
        lines.append(f"  ... and {len(differing) - SHOWN:,} more that differ (-v shows them, and those that do not)")
    return "\n".join(lines)


def shapes_json(pairs: Sequence[ShapePair]) -> dict[str, Any]:
    """Return the comparison as plain data."""
    return {
        "agree": agree(pairs),
        "layers": [
            {"first": _value_json(pair.left), "second": _value_json(pair.right), "verdict": pair.verdict}
            for pair in pairs
        ],
    }


def _word(comparison: str) -> str:
    styles = {"differs": Style.BAD, "same": Style.GOOD, "layout": Style.GOOD}
    word = VERDICTS[comparison] or "same"
    return Painted(word, styles[comparison]) if comparison in styles else word


def _cells(value: Value | None) -> tuple[str, str]:
    return ("-", "") if value is None else (value.name, str(value.type))


def _value_json(value: Value | None) -> dict[str, Any] | None:
    if value is None:
        return None
    operator = None if value.producer is None else value.producer.op.name
    return {"name": value.name, "type": str(value.type), "operator": operator}


def values_text(graph: Graph) -> str:
    """Return one line a value, and how many are known."""
    rows = [
        (row["name"], row["type"], row["operator"] or row["role"], ", ".join(row["inputs"])) for row in values(graph)
    ]
    return f"{table(('value', 'type', 'by', 'of'), rows, flexible=(0, 2, 3), scoped=True)}\n\n" + wrapped(
        describe_counts(count_known(graph)), first="", rest="  "
    )


def values(graph: Graph) -> list[dict[str, Any]]:
    """Inputs, parameters that came with the model, and results, in this order; shapes with None for unknown sizes.

    The values of a subgraph follow its node, their names behind the node's.
    """
    from graphir.analysis.contents import has_source_names

    outputs = set(graph.outputs)
    parameters = set(graph.parameters)
    named = has_source_names(graph)
    shown = [*graph.inputs, *(value for value in graph.parameters if value.sources or not named or value in outputs)]
    return [*(_row(value, "", value in parameters, value in outputs) for value in shown), *_results(graph, "")]


def _results(graph: Graph, around: str) -> Iterator[dict[str, Any]]:
    from graphir.analysis.counting import visible_outputs
    from graphir.inference.explain import subgraph_path

    outputs = set(graph.outputs)
    for node in graph.nodes:
        yield from (_row(value, around, False, value in outputs) for value in visible_outputs(node))
        for index, inner in enumerate(node.subgraphs):
            path = f"{around}{subgraph_path(node, index)}"
            yield from (_row(value, path, False, False) for value in inner.inputs)
            yield from _results(inner, path)


def _row(value: Value, around: str, is_parameter: bool, is_output: bool) -> dict[str, Any]:
    node = value.producer
    role = "parameter" if is_parameter else "input" if node is None else "output" if is_output else "inner"
    shape = None
    if value.shape is not None:
        shape = [dim if isinstance(dim, int) else None if str(dim) == "?" else str(dim) for dim in value.shape]
    return {
        "name": f"{around}{value.name}",
        "role": role,
        "type": str(value.type),
        "dtype": None if value.dtype is None else value.dtype.value,
        "shape": shape,
        "operator": None if node is None else node.op.name,
        "node": None if node is None else node.name,
        "inputs": [] if node is None else [used.name for used in node.inputs if used is not None],
        "sources": list(value.sources),
    }


def count_known(graph: Graph) -> dict[str, int]:
    """Return how many values, those of subgraphs included, are known in numbers, in symbols, and not wholly known."""
    from graphir.inference.explain import all_values

    counts = {"values": 0, "known": 0, "symbolic": 0, "unknown": 0}
    for _, value in all_values(graph):
        counts["values"] += 1
        counts[_state(value.type)] += 1
    return counts


def _state(type_: Type) -> str:
    from graphir.inference.engine import is_complete
    from graphir.types import Sym, TensorType

    if not is_complete(type_):
        return "unknown"
    symbolic = isinstance(type_, TensorType) and any(isinstance(dim, Sym) for dim in type_.shape or ())
    return "symbolic" if symbolic else "known"


def describe_counts(counts: dict[str, int]) -> str:
    """Return the counts in one line."""
    return (
        f"{counts['values']} values: {counts['known']} known in numbers, {counts['symbolic']} with symbolic sizes, "
        f"{counts['unknown']} not fully known"
    )

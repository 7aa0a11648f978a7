"""One model checked on its way to a target: what stands in the way, all at once."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .model import open_model
from .stand_in import open_parameters, stand_in, with_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphir.converters.formats import Ready, Source
    from graphir.errors import Gap
    from graphir.graph import Graph

    from .console import Console

NODES_SHOWN = 6


@dataclass(frozen=True)
class Checked:
    """What a check of a model found: gaps in a step (`reading` or `writing`), or what it would become."""

    gaps: Sequence[Gap] = ()
    step: str = ""
    made_up: Mapping[str, str] = field(default_factory=dict)
    reading: Source | None = None
    ready: Ready | None = None


def checked(options: argparse.Namespace, stated: Mapping[str, Any], console: Console) -> Checked:
    """Check the model `options.source`. Raises what reading and writing it raise, but for operators that are not
    supported."""
    from graphir.converters.writing import example, make_ready
    from graphir.errors import UnsupportedOpError

    step, made_up = "reading", dict[str, str]()
    try:
        reading, made_up = with_sizes(options, console, open_model(options, console))
        _need_sizes(reading.graph)
        step = "writing"
        stand_in(reading.graph)
        return Checked((), "", made_up, reading, make_ready(
            reading.graph, example(options.target), options.target, stated
        ))  # fmt: skip
    except UnsupportedOpError as error:
        return Checked(error.gaps, step, made_up)


def _need_sizes(graph: Graph) -> None:
    """Raise ImportFailure for parameters that have an open size still: the shapes of inputs are what is missing."""
    from graphir.analysis.memory.inference import example_of
    from graphir.errors import ImportFailure

    missing = open_parameters(graph)
    if missing:
        examples = " ".join(f"-i {example_of(value.name, value.shape)}" for value in graph.inputs[:5])
        lines = "\n  ".join(f"{value.name} {value.type}" for value in missing)
        raise ImportFailure(
            f"the sizes of {len(missing)} parameter(s) follow from nothing; give the shapes of the inputs, as in "
            f"{examples or '-i NAME:SIZES'}:\n  {lines}"
        )


def gaps_json(gaps: Sequence[Gap], step: str) -> list[dict[str, Any]]:
    """The gaps as plain data."""
    return [
        {
            "operator": gap.operator,
            "step": step,
            "reason": gap.reason,
            "count": len(gap.nodes),
            "nodes": list(gap.nodes),
        }
        for gap in gaps
    ]


__all__ = ["NODES_SHOWN", "Checked", "checked", "gaps_json"]

"""A part of a model: cut at the values that `outputs` and `inputs` of its options name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphir.converters.options import ModelOptions

if TYPE_CHECKING:
    from graphir.graph import Graph


def cut_graph(graph: Graph, outputs: Sequence[str] | None, inputs: Sequence[str], given: ModelOptions) -> Graph:
    """Return the part of a graph; without `outputs` that which computes all of its own. What is `given` for values that
    became inputs wins over what was inferred. Raises GraphError, and ImportFailure for types that do not fit."""
    wanted: Sequence[Any] = graph.outputs if outputs is None else outputs
    part = graph.extract(wanted, inputs)
    if given.shapes or given.dtypes:
        from graphir.inference.engine import fix_types

        fix_types(part, given.shapes, given.dtypes)
    return part


def split_given(options: ModelOptions, cuts: Mapping[str, str]) -> tuple[ModelOptions, ModelOptions]:
    """Return the options with what is given for the whole model's inputs, and with what is given for those of the part.

    `cuts` are the names of values that become inputs, by how they were asked for; types may be given by either.
    """
    fresh = {**cuts, **{name: name for name in cuts.values()}}

    def of_whole(stated: Mapping[str, object] | None) -> dict[str, object] | None:
        return {name: given for name, given in (stated or {}).items() if name not in fresh} or None

    def of_part(stated: Mapping[str, object] | None) -> dict[str, object] | None:
        return {fresh[name]: given for name, given in (stated or {}).items() if name in fresh} or None

    return (
        replace(options, shapes=of_whole(options.shapes), dtypes=of_whole(options.dtypes)),
        replace(options, shapes=of_part(options.shapes), dtypes=of_part(options.dtypes)),
    )

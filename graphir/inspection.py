"""What a model is, without running it: its layers, its shapes, its padding, and what another one has otherwise.

`graphir.summary`, `shapes`, `padding` and `diff` take a Graph or a path to anything that `graphir.load` reads, and give
reports: `print(report)` shows what the command of that name prints, `report.to_json()` is plain data, and where two
models are compared `bool(report)` says whether they agree.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.analysis.contents import count_operators
from graphir.converters.options import ModelOptions
from graphir.graph import Graph
from graphir.report.inspected import (
    DiffReport,
    PaddingReport,
    ShapesReport,
    SummaryReport,
    ValuesReport,
    WindowsReport,
)
from graphir.safety.arguments import expect
from graphir.safety.foreign_text import one_line
from graphir.safety.limits import Stated, bounded

if TYPE_CHECKING:
    from graphir.converters.formats import Source

Model = Graph | str | os.PathLike[str]


@bounded
def summary(
    model: Model,
    *,
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    format: str | None = None,
    limits: Stated = None,
) -> SummaryReport:
    """Return the layers of a model with their parameters and multiply-accumulates.

    `params`, `shapes`, `format` and `limits` are as for `graphir.load`. Raises what `load` raises.
    """
    return summary_of(opened(model, ModelOptions(params, shapes, format=format)))


@bounded
def shapes(
    model: Model,
    other: Model | None = None,
    *,
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    other_shapes: Mapping[str, Any] | None = None,
    format: str | None = None,
    limits: Stated = None,
) -> ValuesReport | ShapesReport:
    """Return the type of every value of a model, or two models' shapes layer by layer.

    `other_shapes` are those of the other model's inputs, `shapes` without them. Raises what `graphir.load` raises.
    """
    left = opened(model, ModelOptions(params, shapes, format=format), simplified=False)
    if other is None:
        return values_of(left)
    theirs = ModelOptions(shapes=other_shapes or shapes)
    return shapes_of_both(left, opened(other, theirs, simplified=False))


@bounded
def padding(
    model: Model,
    other: Model | None = None,
    *,
    shapes: Mapping[str, Any] | None = None,
    other_shapes: Mapping[str, Any] | None = None,
    format: str | None = None,
    limits: Stated = None,
) -> WindowsReport | PaddingReport:
    """Return what every convolution and pooling of a model pads, or where two models differ in it: the first is taken
    to be right, and each disagreement comes with what would mend the second.

    `other_shapes` are those of the other model's inputs, `shapes` without them. Raises what `graphir.load` raises.
    """
    left = opened(model, ModelOptions(None, shapes, format=format), simplified=False)
    if other is None:
        return windows_of(left)
    theirs = ModelOptions(shapes=other_shapes or shapes)
    return padding_of_both(left, opened(other, theirs, simplified=False))


@bounded
def diff(
    model: Model,
    other: Model,
    *,
    params: str | os.PathLike[str] | None = None,
    other_params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    other_shapes: Mapping[str, Any] | None = None,
    limits: Stated = None,
) -> DiffReport:
    """Return what differs between two models as graphs, whatever their values are called and in whatever order they
    stand.

    `other_shapes` are those of the other model's inputs, `shapes` without them. Raises what `graphir.load` raises.
    """
    theirs = ModelOptions(other_params, other_shapes or shapes)
    return diff_of(opened(model, ModelOptions(params, shapes)), opened(other, theirs))


def summary_of(model: Source) -> SummaryReport:
    """Return the `summary` of an opened model."""
    from graphir.analysis.summary import summarize

    return SummaryReport(title_of(model), model.graph, summarize(model.graph, model.parameters(), model.folded))


def values_of(model: Source) -> ValuesReport:
    """Return the `shapes` of an opened model."""
    return ValuesReport(title_of(model), model.graph)


def shapes_of_both(model: Source, other: Source) -> ShapesReport:
    """Return the `shapes` of two opened models."""
    from graphir.analysis.shape_comparison import compare_shapes

    return ShapesReport(_title_both(model, other), tuple(compare_shapes(model.graph, other.graph)))


def windows_of(model: Source) -> WindowsReport:
    """Return the `padding` of an opened model."""
    from graphir.analysis.windows import find_windows

    return WindowsReport(title_of(model), tuple(find_windows(model.graph)))


def padding_of_both(model: Source, other: Source) -> PaddingReport:
    """Return the `padding` of two opened models."""
    from graphir.analysis.padding_audit import audit_graphs
    from graphir.analysis.padding_fixes import PLAIN
    from graphir.converters.table import FORMATS, fixes_of

    fixes = fixes_of(other.format) if other.format in FORMATS else PLAIN
    return PaddingReport(_title_both(model, other), audit_graphs(model.graph, other.graph, fixes))


def diff_of(model: Source, other: Source) -> DiffReport:
    """Return the `diff` of two opened models."""
    from graphir.analysis.diff import compare

    return DiffReport(_title_both(model, other), compare(model.graph, other.graph))


def title_of(model: Source) -> str:
    """Return what was read, by the names of its files, in one line."""
    described = model.description
    said = ", ".join(part for part in (described.made_by, described.remark) if part)
    return one_line(f"{described.place} ({said})" if said else described.place)


def titles_of(models: Sequence[Source]) -> list[str]:
    """Return the titles of models that are shown together: where their files have the same names, with the folders."""
    titles = [title_of(model) for model in models]
    if len(models) < 2 or len(set(titles)) == len(titles) or not all(model.files for model in models):
        return titles
    paths = [Path(os.path.abspath(model.files[0])) for model in models]
    if len(set(paths)) < len(paths):
        return titles
    depth = 2
    while len({path.parts[-depth:] for path in paths}) < len(paths):
        depth += 1
    folders = ["/".join(path.parts[-depth:-1]) for path in paths]
    return [one_line(f"{folder}/{title}") for folder, title in zip(folders, titles, strict=True)]


def _title_both(model: Source, other: Source) -> tuple[str, str]:
    first, second = titles_of((model, other))
    return first, second


def opened(model: Model, options: ModelOptions, *, simplified: bool = True) -> Source:
    """Return the model read, or a graph as if it had been."""
    from graphir.converters.formats import Description, Manner, Source
    from graphir.converters.opening import read_model
    from graphir.converters.table import origin_of

    expect(model, (Graph, str, os.PathLike), "the model", "a Graph or the path of a model")
    if not isinstance(model, Graph):
        return read_model(model, options, Manner(simplified))
    if options.shapes:
        from graphir.inference.stated import with_types

        model = with_types(model, options.shapes)
    described = Description(model.name, model.name, origin_of(model.metadata))
    return Source("", model, (), described, count_operators(model))

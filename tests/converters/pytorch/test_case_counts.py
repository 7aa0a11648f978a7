"""Every operator that is written has at least three cases, of open sizes and other attributes than its defaults too."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import pytest
from onnx import parser

import tests.converters.pytorch as package
from graphir.converters.onnx import from_model
from graphir.converters.pytorch.exporting.ops import export_table, refused
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.ops.creation import Range
from graphir.ops.sequence import Optional
from tests.converters.pytorch.cases import Case
from tests.converters.pytorch.test_control import CASES, HEAD

# Cases of one operator. The type that an Optional states is that of what is absent, None.
LEAST = 3
# Operators of numbers without axes.
SCALARS = (Range,)
WRITTEN = [op for op in export_table() if op not in refused.EXPORTS]


def tables() -> Iterator[Case]:
    """The rows of this folder's tables, also those beside what is expected of them."""
    for module in iter_modules(package.__path__):
        for table in vars(import_module(f"{package.__name__}.{module.name}")).values():
            for row in table if isinstance(table, list) else ():
                case = row[0] if isinstance(row, tuple) and row else row
                if isinstance(case, Case):
                    yield case


def operators_of(graph: Graph) -> Iterator[Operator]:
    """The operators of a graph and of those inside it."""
    for node in graph.nodes:
        yield node.op
        for inner in node.subgraphs:
            yield from operators_of(inner)


@cache
def rows() -> dict[type[Operator], dict[object, tuple[Operator, bool]]]:
    """The rows of each operator: which attributes they have, and whether sizes are open."""
    result: dict[type[Operator], dict[object, tuple[Operator, bool]]] = defaultdict(dict)
    for case in tables():
        result[type(case.op)][id(case)] = case.op, case.batch
    for name, (text, *_) in CASES.items():
        for op in operators_of(from_model(parser.parse_model(HEAD + text))):
            result[type(op)][name] = op, True
    return result


@pytest.mark.parametrize("op", WRITTEN, ids=lambda op: op.__name__)
def test_an_operator_has_cases(op: type[Operator]) -> None:
    cases = rows()[op].values()
    assert len(cases) >= LEAST, f"{op.__name__} has {len(cases)} rows, expected {LEAST}"
    fields = [field for field in dataclasses.fields(op) if (op, field.name) != (Optional, "type")]  # type: ignore[arg-type]
    plain = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    others = [name for name in plain if any(getattr(case, name) != plain[name] for case, _ in cases)]
    assert others or not plain, f"no row of {op.__name__} has another {' or '.join(plain)} than by default"
    is_open = any(batch for _, batch in cases) or op in SCALARS or not op.inputs
    assert is_open, f"no row of {op.__name__} has an open size"

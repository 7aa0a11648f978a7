"""How each operator comes to MXNet: one export function, one road of the lowering, or one reason why not.

An export function beside a definition of ONNX's, which the lowering would take, must be worth it: KEPT says why.
"""

from __future__ import annotations

from functools import cache

import onnx.defs
import pytest

from graphir.converters.mxnet.exporting.lowered import LOWERED, Road
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.converters.mxnet.exporting.ops.refused import REASONS
from graphir.converters.onnx import from_model
from graphir.converters.onnx.ops import export_table as onnx_exports
from graphir.graph import Graph
from graphir.ops import operator_table
from tests.converters.mxnet import test_lowering
from tests.converters.mxnet.test_export_compositions import CLOSED
from tests.converters.mxnet.test_export_random import ROWS as RANDOM
from tests.converters.onnx.test_expansion import EXPANDED
from tests.passes.written import model_of
from tests.typed import untyped

KEPT = {
    "MXNet has it as one operator": {
        *("Clip", "DepthToSpace", "Elu", "GreaterOrEqual", "HardSigmoid", "LayerNormalization", "LeakyRelu"),
        *("LessOrEqual", "LogSoftmax", "PRelu", "Range", "ReduceL2", "Relu", "Selu", "Softmax", "Softplus"),
        *("Softsign", "SpaceToDepth"),
    },
    "the definition overflows, of large numbers": {"ReduceLogSumExp"},
    "the definition takes floats only": {"ReduceLogSum"},
    "the definition takes float32 only": {"MeanVarianceNormalization"},
    "the definition computes float64 in float32": {"RMSNormalization"},
    "the definition divides by 0, of zeros": {"DynamicQuantizeLinear"},
    "the definition does not hold for a negative alpha": {"Celu"},
    "the definition casts its numbers to integers": {"Shrink"},
    "the definition needs the shapes": {"ThresholdedRelu"},
    "the definition takes twice as many nodes or more": {"AffineGrid", "GroupNormalization"},
    "the definition takes powers, which are slow": {"Gelu"},
}
REASON_OF = {name: reason for reason, names in KEPT.items() for name in names}


@cache
def defined() -> set[str]:
    """The operators that ONNX defines by others."""
    found = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""
             and (untyped(schema).has_function or untyped(schema).has_context_dependent_function)}  # fmt: skip
    return found & set(operator_table())


def names_in(graph: Graph) -> set[str]:
    """The operators of a graph and of those inside it."""
    inner = [names_in(part) for node in graph.nodes for part in node.subgraphs]
    return {node.op.name for node in graph.nodes}.union(*inner)


@cache
def tried() -> set[str]:
    """The operators of all rows that are written as MXNet and computed by it."""
    models = [row.model for row in (*CLOSED, *(row[0] for row in RANDOM))]
    for name, text in test_lowering.ROWS.items():
        models.append(model_of(text))
        models[-1].opset_import[0].version = test_lowering.OPSETS.get(name, 21)
    return set[str]().union(*(names_in(from_model(model)) for model in models))


@pytest.mark.parametrize("name", sorted(operator_table()))
def test_there_is_one_way(name: str) -> None:
    op = operator_table()[name]
    assert (op in export_table()) + (op in LOWERED) == 1, f"{name}: exporting/ops/, or a row of exporting/lowered.py"


@pytest.mark.parametrize("name", sorted(op.__name__ for op in REASONS))
def test_what_is_refused_is_not_composed(name: str) -> None:
    """The lowering writes what ONNX's export composes, whatever the reason says."""
    export = onnx_exports()[operator_table()[name]]
    assert export.__name__ != "export_composed", f"{name}: a row of exporting/lowered.py, not of refused.py"


@pytest.mark.parametrize("name", sorted(op.__name__ for op in LOWERED))
def test_what_is_lowered_is_tried(name: str) -> None:
    assert name in tried(), f"{name} has no row in export_rows or test_lowering"


@pytest.mark.parametrize("name", sorted(op.__name__ for op, road in LOWERED.items() if "DEFINITION" in road.name))
def test_what_is_lowered_by_its_definition_has_one(name: str) -> None:
    assert name in defined() | {"CastLike"}


@pytest.mark.parametrize("name", sorted(defined()))
def test_an_export_beside_a_definition_is_worth_it(name: str) -> None:
    op = operator_table()[name]
    assert (op in export_table()) == (name in REASON_OF), f"{name}: the lowering writes it; KEPT says why it need not"


@pytest.mark.parametrize("name", sorted(defined()))
def test_definitions_are_computed(name: str) -> None:
    """ONNX's definitions are others' work: one of them draws the complement of what it shall."""
    lowered = {op.__name__ for op in LOWERED} & tried()
    forced = {op.__name__ for ops in test_lowering.DEFINED.values() for op in ops}
    alone = {list(from_model(model_of(text)).nodes)[-1].op.name for text, _ in EXPANDED}
    assert name in lowered | forced | alone, f"{name} has no row in tests/converters/onnx/test_expansion.py"


def test_every_reason_and_road_says_something() -> None:
    assert all(len(text.split()) > 3 for text in (*REASONS.values(), *REASON_OF.values(), *Road))
    assert set(REASONS) <= set(export_table())
    assert set(REASON_OF) <= defined()

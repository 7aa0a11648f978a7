"""Models of one operator with an attribute that makes no sense, beside a node that no importer knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import onnx
from onnx import AttributeProto, helper

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.importing.importer import Importer
from graphir.converters.mxnet.schema.operators import canonical_name
from graphir.converters.mxnet.schema.registry import operator_schema
from graphir.converters.onnx import from_model
from graphir.errors import UnsupportedOpError
from graphir.safety.limits import limited
from graphir.tensor import Tensor
from tests.equivalence.case import Case
from tests.equivalence.table import CASES

UNKNOWN = "NoSuchOperator"
HUGE = 1 << 62
TEXTS = (
    *("0", "-7", "1000000", "100000000000000000000", "", "()", "(0,)", "(-1,-1)", f"({HUGE},{HUGE})", "nan", "-1e39"),
    *("None", "absurd", "[["),
)
NUMBERS = (0, -7, 10**6, HUGE)
FLOATS = (0.0, -7.0, float("nan"), float("inf"))
VALUES: Mapping[int, tuple[Any, ...]] = {
    AttributeProto.INT: (*NUMBERS, 1.5, "absurd", [1]),
    AttributeProto.FLOAT: (*FLOATS, "absurd", [1.0]),
    AttributeProto.STRING: ("", "absurd", 7),
    AttributeProto.INTS: ([], [0], [-7, -7], [HUGE, HUGE], [1] * 9, 7, "absurd"),
    AttributeProto.FLOATS: ([], [float("nan")], [-7.0] * 9, 7.0, "absurd"),
    AttributeProto.STRINGS: ([], ["absurd"], "absurd"),
}


def finding(load: Callable[[], object], node: str, attribute: str, value: object) -> str:
    """What is wrong with how a model is refused, "" if nothing: the unknown operator is always named, the node where
    it is refused too, and its attribute where Python's own error is the reason."""
    what = f"{attribute}={value!r}"
    try:
        load()
    except UnsupportedOpError as error:
        own = [str(gap) for gap in error.gaps if gap.operator != UNKNOWN]
        if len(own) == len(error.gaps):
            return f"{what} hides the other gap: {error}"
        bodies = ("input ", "output ", "value ")  # of the graph inside a node, which has names of its own
        unnamed = [text for text in (*own, *error.problems) if node not in text and not text.startswith(bodies)]
        unnamed += [text for text in own if "do not fit its operands" in text and attribute not in text]
        return f"{what} is not named: {unnamed}" if unnamed else ""
    except Exception as error:
        return f"{what}: {type(error).__name__}: {error}"
    return f"{what}: the unknown operator was imported"


@cache
def mxnet_rows() -> list[Case]:
    """A case of each operator."""
    return list({case.op: case for case in reversed(CASES) if canonical_name(case.op)}.values())


def mxnet_findings(case: Case) -> list[str]:
    """What is wrong with how absurd attributes of the operator are refused."""
    document = json.loads(case.symbol_json())
    arrays = case.arrays()
    params = {name: Tensor.of(arrays[name]) for name in (*case.variables("param"), *case.variables("aux"))}
    node = next((node for node in document["nodes"] if node["op"] == case.op), document["nodes"][-1])
    stated = dict(node.get("attrs") or {})
    document["nodes"].append({"op": UNKNOWN, "name": "gap", "inputs": [[0, 0, 0]]})
    document["heads"] = [[document["nodes"].index(node), 0, 0], [len(document["nodes"]) - 1, 0, 0]]
    found = []
    for name in operator_schema(canonical_name(node["op"]) or "").parameters:
        for text in TEXTS:
            node["attrs"] = {**stated, name: text}
            found.append(finding(lambda: _load_mxnet(document, params, case.shapes()), node["name"], name, text))
    return [one for one in found if one]


def _load_mxnet(document: Any, params: Mapping[str, Tensor], shapes: Mapping[str, Any]) -> None:
    with limited():
        Importer(read_symbol(json.dumps(document)), params, shapes).run()


@cache
def onnx_rows() -> dict[str, Any]:
    """A model of each operator with attributes, from onnx's own cases."""
    from tests.onnx_backend import samples

    found: dict[str, Any] = {}
    for sample in samples(("node",)):
        nodes = sample.model.graph.node
        if len(nodes) == 1 and not nodes[0].domain and _attributes(sample.model):
            found.setdefault(nodes[0].op_type, sample.model)
    return found


def _attributes(made: Any) -> Mapping[str, Any]:
    opset = next(entry.version for entry in made.opset_import if entry.domain in ("", "ai.onnx"))
    return onnx.defs.get_schema(made.graph.node[0].op_type, opset, "").attributes


def onnx_findings(operator: str) -> list[str]:
    """The same for an operator of ONNX."""
    return [one for one in _onnx_findings(onnx_rows()[operator]) if one]


def _onnx_findings(model: Any) -> Iterator[str]:
    for name, schema in _attributes(model).items():
        for value in VALUES.get(int(schema.type), (7,)):
            made = onnx.ModelProto()
            made.CopyFrom(model)
            node = made.graph.node[0]
            others = [attribute for attribute in node.attribute if attribute.name != name]
            stated = AttributeProto(name=name, type=AttributeProto.INTS) if value == [] else None
            node.ClearField("attribute")
            node.attribute.extend([*others, stated or helper.make_attribute(name, value)])
            made.graph.node.append(helper.make_node(UNKNOWN, [], ["gap"], name="gap"))
            made.graph.output.append(helper.make_tensor_value_info("gap", 1, [1]))
            yield finding(lambda: _load_onnx(made), node.name or node.output[0], name, value)  # noqa: B023


def _load_onnx(made: Any) -> None:
    with limited():
        from_model(made)


__all__ = ["UNKNOWN", "mxnet_findings", "mxnet_rows", "onnx_findings", "onnx_rows"]

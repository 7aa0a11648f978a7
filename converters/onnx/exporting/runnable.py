"""Nodes that onnxruntime has no kernel for in their dtypes, and the casts around them with which it has one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from graphir.converters.onnx.exporting.signatures import OperatorSignature, signature
from graphir.converters.onnx.files.records import DEFAULT_DOMAINS, OnnxNode
from graphir.runtime.kernels import Release, releases
from graphir.structure.record import record


@record
class NodePlan:
    """What a node needs. `wide` are the dtypes to compute in by type variable, none if it runs as it is.

    `missing`, if not "", says what has no kernel and no cast mends, `whole` that there is none for any dtype; `only` is
    the release that it takes at least where the oldest one is not enough; `rounding` says what the casts change.
    """

    wide: Mapping[str, str] = MappingProxyType({})
    missing: str = ""
    whole: bool = False
    only: str = ""
    rounding: str = ""


RUNS = NodePlan()
# The types of operands and of results in order: None where one is absent, "" where it is not known.
_Texts = tuple[tuple[str | None, ...], tuple[str | None, ...]]


def plan_for(node: OnnxNode, types: Mapping[str, str], opset: int) -> NodePlan:
    """Return what a node needs to have kernels in every release that opens the opset, or else in as many of the newest
    as can be.

    `types` are the known types of values, as ONNX writes them.
    """
    if node.domain not in DEFAULT_DOMAINS or node.op_type == "Constant":
        return RUNS
    texts = tuple([types.get(name, "") if name else None for name in node.inputs])
    results = tuple([types.get(name, "") if name else None for name in node.outputs])
    nearest = node.attributes.get("mode", "nearest") in ("nearest", b"nearest")
    return _plan_of_types(node.op_type, opset, (texts, results), nearest)


@cache
def _plan_of_types(op_type: str, opset: int, texts: _Texts, nearest: bool) -> NodePlan:
    """Return the plan by the types of operands and results."""
    schema, everywhere = signature(op_type, opset), opening(opset)
    if schema is None or not everywhere:
        return RUNS
    types, mixed = _bound_types(schema, texts)
    if mixed:
        return NodePlan(mixed)
    halves = "tensor(float16)" in texts[0]
    newest = everywhere[-1]
    by_age = [(everywhere[start:], everywhere[start].number if start else "") for start in range(len(everywhere))]

    def runs(on: Sequence[Release], changed: Mapping[str, str]) -> bool:
        given = _replace_types(types, changed, schema)
        runs_it = (release.runs(op_type, schema.since, opset, given, halves=halves) for release in on)
        return _are_allowed(given, schema) and all(runs_it)

    if runs(everywhere, {}):
        return RUNS
    choices = list(_choices(op_type, types, schema, nearest))
    exact: list[tuple[dict[str, str], str]] = [({}, ""), *(choice for choice in choices if not choice[1])]
    rounded = [choice for choice in choices if choice[1]]
    for candidates in (exact, rounded):
        for on, least in by_age:
            for wide, rounding in candidates:
                if runs(on, wide):
                    return NodePlan(wide, only=least, rounding=rounding)
    whole = not newest.runs(op_type, schema.since, opset, {})
    of = "" if whole else f" of {', '.join(dict.fromkeys(_operand_types(types, schema)))}"
    return NodePlan(
        missing=f"onnxruntime {newest.number} has no kernel for {op_type}{of} at opset {opset}", whole=whole
    )


def _bound_types(schema: OperatorSignature, texts: _Texts) -> tuple[dict[str, str], dict[str, str]]:
    """Return the types by operand and type variable, and int64 for the variables of operands of int32 and int64."""
    bound: dict[str, str] = {}
    mixed: dict[str, str] = {}
    for formals, actuals in zip((schema.inputs, schema.outputs), texts, strict=True):
        for slot, whole in enumerate(actuals if formals else ()):
            formal, text = formals[min(slot, len(formals) - 1)], element(whole or "")
            if not text:
                continue
            if {text, bound.get(formal.variable, text)} == {"int32", "int64"}:
                mixed[formal.variable] = "int64"
            bound[formal.name] = text
            if formal.variable:
                bound[formal.variable] = text
    return bound, mixed


@cache
def opening(opset: int) -> tuple[Release, ...]:
    """Return the releases that open files of an opset."""
    return tuple(release for release in releases() if release.opset >= opset)


def element(text: str) -> str:
    """`float` for `tensor(float)`; other types as they are."""
    return text[7:-1] if text.startswith("tensor(") else text


def _replace_types(types: Mapping[str, str], changed: Mapping[str, str], schema: OperatorSignature) -> dict[str, str]:
    given = dict(types) | dict(changed)
    for formal in (*schema.inputs, *schema.outputs):
        if formal.variable in changed and formal.name in types:
            given[formal.name] = changed[formal.variable]
    return given


def _are_allowed(types: Mapping[str, str], schema: OperatorSignature) -> bool:
    """Return whether ONNX's operator takes these types."""
    return all(
        not types.get(formal.name) or types[formal.name] in map(element, formal.types)
        for formal in (*schema.inputs, *schema.outputs)
    )


def _operand_types(types: Mapping[str, str], schema: OperatorSignature) -> list[str]:
    return [str(types[formal.name]) for formal in (*schema.inputs, *schema.outputs) if formal.name in types]


def _choices(
    op_type: str, types: Mapping[str, str], schema: OperatorSignature, nearest: bool
) -> Iterator[tuple[dict[str, str], str]]:
    """Other dtypes by type variable, and what they round: exact ones first, then those that change little."""
    from graphir.converters.onnx.exporting.casts import NEVER, kind_of, wider

    allowed: dict[str, frozenset[str]] = {}
    for formal in (*schema.inputs, *schema.outputs):
        if formal.variable in types:
            allowed[formal.variable] = formal.types
    if op_type in NEVER or any("(" in text for text in types.values()):
        return
    options = [
        [
            (variable, "", ""),
            *(
                (variable, wide, rounding)
                for wide, rounding in wider(kind_of(op_type, variable, nearest=nearest), types[variable])
                if f"tensor({wide})" in texts
            ),
        ]
        for variable, texts in allowed.items()
    ]
    combined = [
        (
            {variable: wide for variable, wide, _ in combination if wide},
            list(dict.fromkeys(rounding for _, _, rounding in combination if rounding)),
        )
        for combination in itertools.product(*options)
    ]
    for wide, rounding in sorted(combined, key=lambda choice: (len(choice[1]), len(choice[0]))):
        if wide:
            yield wide, "; ".join(rounding)

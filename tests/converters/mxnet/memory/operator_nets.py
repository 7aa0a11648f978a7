"""One operator between scalings, so that its operands have memory of their own; and a program that asks live MXNet what
it allocates for each: `python -m tests.converters.mxnet.memory.operator_nets` prints one JSON document.
"""

from __future__ import annotations

import json
import re
from math import prod
from types import ModuleType
from typing import Any

from graphir.converters.mxnet.memory.gradients import GRADIENTS
from tests.equivalence.case import Case
from tests.equivalence.table import CASES

ELEMENTS = 1_200_000
EXCEPT = {
    "amp_cast-to_float16": "a symbol is read without the casts of mixed precision",
    "_np_cumsum-to_float64": "inference does not tell the wider result that MXNet does not share",
    "softmax-float32_to_float16": "the same of the narrower one",
    "softmin-to_float64": "the same of the wider one",
    **dict.fromkeys(
        ("RNN-lstm_projected", "RNN-lstm_projected_bidirectional", "RNN-lstm_projected_two_layers"),
        "a projection is read with its weights only",
    ),
}
ROWS = tuple(
    case for case in CASES
    if case.op in GRADIENTS and case.name not in EXCEPT and not case.np_shape
    and all(source.dtype == "float32" for source in case.inputs)
)  # fmt: skip
REQS = ("null", "write")


def shapes_of(case: Case, *, is_scaled: bool) -> tuple[dict[str, Any], list[str]]:
    """The shapes of a case's inputs, scaled with totals of some MB by its first axis, and the variables of the data."""
    shapes, before = {}, []
    for source in case.inputs:
        name = case.variable(source)
        if source.role == "data" and source.shape:
            rows = source.shape[0] * (max(1, ELEMENTS // prod(source.shape)) if is_scaled else 1)
            shapes[f"x_{name}"] = (rows, *source.shape[1:])
            before.append(name)
        else:
            shapes[name] = source.shape
    return shapes, before


def networks(case: Case, before: list[str], mx: ModuleType) -> list[Any]:
    """The case between scalings, and the same with its scaled operands as outputs too."""
    made = {name: mx.sym.Variable(f"x_{name}") * 2 for name in before}
    net = mx.sym.load_json(case.symbol_json())
    net = net(**made) if made else net
    heads = [net[place] * 3 for place in range(case.heads)]
    return [mx.sym.Group(heads), mx.sym.Group([*heads, *(value * 5 for value in made.values())])]


def plan(net: Any, req: str, shapes: dict[str, Any], mx: ModuleType) -> tuple[int, list[str]]:
    """The MB that MXNet allocates, and its operators in the order in which they run."""
    text = net.simple_bind(mx.cpu(), grad_req=req, **shapes).debug_str()
    found = re.search(r"Total (\d+) MB allocated", text)
    assert found is not None
    return int(found[1]), re.findall(r"^Op:(.*), Name=", text, re.MULTILINE)


def main() -> None:
    """Of each case the networks as JSON and what MXNet allocates, with scaled shapes and with its own; null where it
    does not take the shapes.
    """
    from tests.models.symbols import import_mxnet

    mx = import_mxnet()
    found: dict[str, Any] = {}
    for case in ROWS:
        for kind in ("scaled", "own"):
            shapes, before = shapes_of(case, is_scaled=kind == "scaled")
            nets = networks(case, before, mx)
            try:
                plans = [plan(net, req, shapes, mx) for net in nets for req in REQS]
            except (mx.base.MXNetError, RuntimeError):
                plans = None
            found.setdefault(case.name, {"nets": [net.tojson() for net in nets]})[kind] = plans
    print(json.dumps(found))


if __name__ == "__main__":
    main()

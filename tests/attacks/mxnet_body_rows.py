"""Hostile symbols inside symbols: MXNet's `_foreach`, `_while_loop` and `_cond`, which say by position what goes in."""

from __future__ import annotations

from typing import Any

from tests.attacks.attack import Attack
from tests.attacks.mxnet_rows import SHAPES, node, one, symbol

Node = dict[str, Any]
FOREACH = {"in_data_locs": "(0,)", "in_state_locs": "()", "remain_locs": "()", "num_args": 2, "num_outputs": 1,
           "num_out_data": 1}  # fmt: skip
WHILE = {"num_args": 3, "num_outputs": 1, "num_out_data": 0, "max_iterations": 5, "cond_input_locs": "(0,)",
         "func_input_locs": "(0,)", "func_var_locs": "(0,)"}  # fmt: skip
COND = {"num_args": 4, "num_outputs": 1, "cond_input_locs": "(0,)", "then_input_locs": "(0,)",
        "else_input_locs": "(0,)"}  # fmt: skip


def inside(made: Node, *, heads: Any = None) -> Node:
    """A symbol of one variable and one node."""
    nodes = [{"op": "null", "name": "a", "inputs": []}, made]
    return {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]] if heads is None else heads}


STEP, TRUTH = inside(node("relu", 0, name="leaf")), inside(node("sum", 0, name="truth"))


def foreach(name: str = "loop", symbols: Any = (STEP,), data: int = 0, **attributes: Any) -> Node:
    """A `_foreach` over the first axis."""
    return {**node("_foreach", data, name=name, **{**FOREACH, **attributes}), "subgraphs": list(symbols)}


def while_loop(name: str = "loop", symbols: Any = (TRUTH, STEP), data: int = 0, **attributes: Any) -> Node:
    """A `_while_loop` of one variable."""
    return {**node("_while_loop", data, name=name, **{**WHILE, **attributes}), "subgraphs": list(symbols)}


def cond(name: str = "choice", symbols: Any = (TRUTH, STEP, STEP), **attributes: Any) -> Node:
    """A `_cond` of one input."""
    return {**node("_cond", 0, 0, 0, name=name, **{**COND, **attributes}), "subgraphs": list(symbols)}


def nested(make: Any, depth: int) -> Node:
    """Control flow inside control flow."""
    found: Node = make("level0")
    for level in range(1, depth):
        held = inside(found)
        symbols = {foreach: (held,), while_loop: (TRUTH, held), cond: (TRUTH, held, STEP)}[make]
        found = make(f"level{level}", symbols)
    return found


def branching(depth: int) -> Node:
    """Both branches hold the same."""
    found = cond("level0")
    for level in range(1, depth):
        found = cond(f"level{level}", (TRUTH, inside(found), inside(found)))
    return found


def in_a_row(make: Any, count: int, shape: Any) -> Attack:
    """So many, each fed by the one before; linear."""
    nodes = [make(f"loop{slot}", data=slot + 1 if slot else 0) for slot in range(count)]
    files = {"m-symbol.json": symbol(*nodes)}
    name = f"{count} of {nodes[0]['op']} in a row over {shape}"
    return Attack(name, "m-symbol.json", files, options={"shapes": {"x": shape}})


BILLION = {"x": (10**9, 2)}
NESTED = (
    one("_foreach in _foreach, 30 deep", nested(foreach, 30)),
    one("_foreach in _foreach, 30 deep, in MXNet", nested(foreach, 30), target="result-symbol.json"),
    one("_foreach in _foreach, 200 deep", nested(foreach, 200), "levels"),
    one("_while_loop in _while_loop, 30 deep", nested(while_loop, 30)),
    one("_while_loop in _while_loop, 20 deep, in MXNet", nested(while_loop, 20), target="result-symbol.json"),
    one("_while_loop in _while_loop, 40 deep", nested(while_loop, 40), "levels"),
    one("_cond in _cond, 30 deep", nested(cond, 30)),
    one("_cond in both branches of _cond, 8 deep", branching(8)),
    in_a_row(foreach, 1000, (2, 3, 8, 8)),
    in_a_row(foreach, 1000, (None, 3)),
    in_a_row(while_loop, 500, (2, 3, 8, 8)),
    one("_foreach of 2000 symbols", foreach(symbols=[STEP] * 2000)),
    one("_foreach over a billion", foreach(), shapes=BILLION),
    one("_foreach over a billion, in MXNet", foreach(), shapes=BILLION, target="result-symbol.json"),
    one("_foreach over a number", foreach(), "axis 0", shapes={"x": ()}),
)
POSITIONS = (
    one("a slice from a variable that there is not", foreach(in_data_locs="(99,)"), "positions"),
    one("a slice from a variable behind the last", foreach(in_data_locs="(-1,)"), "positions"),
    one("5000 slices of one variable", foreach(in_data_locs="(" + "0," * 5000 + ")"), "positions"),
    one("a slice that is a state too", foreach(in_state_locs="(0,)"), "positions"),
    one("a slice that is kept too", foreach(remain_locs="(0,)"), "positions"),
    one("no slices", foreach(in_data_locs="()", remain_locs="(0,)"), "positions"),
    one("fewer rows than none", foreach(num_out_data=-1), "expected -1"),
    one("a variable that its function has not", while_loop(func_var_locs="(5,)"), "func_var_locs"),
    one("a variable behind the last", while_loop(func_var_locs="(-1,)"), "func_var_locs"),
    one("a variable twice", while_loop(func_input_locs="(0, 0)", func_var_locs="(0, 1)"), "func_var_locs"),
    one("a condition on what there is not", while_loop(cond_input_locs="(7,)"), "cond_input_locs"),
    one("a function of what there is not", while_loop(func_input_locs="(-3,)"), "func_input_locs"),
    one("fewer iterations than none", while_loop(max_iterations=-1), "max_iterations -1"),
    one("a condition of two results", while_loop(symbols=(inside(node("sum", 0), heads=[[1, 0, 0], [0, 0, 0]]), STEP)),
        "2 values"),
    one("a branch of what there is not", cond(then_input_locs="(3,)"), "then_input_locs"),
    one("a choice by what there is not", cond(cond_input_locs="(-1,)"), "cond_input_locs"),
    one("a branch of two results", cond(symbols=(TRUTH, STEP, inside(node("relu", 0), heads=[[1, 0, 0], [0, 0, 0]]))),
        "1 and 2"),
)
WRONG = (
    one("a symbol that is a number", foreach(symbols=[1]), "expected a graph"),
    one("a symbol that is a list", foreach(symbols=[[1]]), "expected a graph"),
    one("a symbol of nothing", foreach(symbols=[{}]), "missing"),
    one("no symbol", foreach(symbols=[]), "0 symbols"),
    one("a symbol whose head is nowhere", foreach(symbols=[inside(node("relu", 0), heads=[[99, 0, 0]])]), "below 2"),
    one("a symbol whose head is the last but one", foreach(symbols=[inside(node("relu", 0), heads=[[-1, 0, 0]])]),
        "below 2"),
    one("a symbol without heads", foreach(symbols=[inside(node("relu", 0), heads=[])]), "no heads"),
    one("code in a symbol in a symbol", foreach(symbols=[inside(node("Custom", 0, op_type="os.system"))]), "Custom"),
    Attack("symbols in an object", "m-symbol.json", {"m-symbol.json": symbol({**foreach(), "subgraphs": {"a": 1}})},
           "expected a list", options={"shapes": SHAPES}),
)  # fmt: skip
ROWS = (*NESTED, *POSITIONS, *WRONG)

__all__ = ["ROWS", "foreach", "nested", "while_loop"]

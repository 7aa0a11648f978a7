"""Hostile ONNX models."""

from __future__ import annotations

import re
from typing import Any

from tests.attacks.attack import Attack
from tests.building import parse_model
from tests.fuzz.protobuf import BYTES, VARINT, Field, write


def parsed(text: str, opset: int = 18) -> Any:
    """A model of onnx's text form."""
    return parse_model(text, opset=opset, ir_version=8, domains={"local": 1})


def model(name: str, text: str, refused: str = "", *, opset: int = 18, **more: Any) -> Attack:
    """A model that is valid as protobuf."""
    return Attack(name, "m.onnx", {"m.onnx": parsed(text, opset).SerializeToString()}, refused, **more)


def raw(name: str, content: bytes, refused: str = "") -> Attack:
    """Any bytes."""
    return Attack(name, "m.onnx", {"m.onnx": content}, refused)


def doubling(depth: int) -> str:
    """Functions of which each calls the one before twice."""
    functions = ['<domain: "local", opset_import: ["" : 18]> f0 (a) => (b) { b = Neg(a) }']
    for slot in range(depth):
        functions.append(
            f'<domain: "local", opset_import: ["" : 18, "local" : 1]> f{slot + 1} (a) => (b) '
            f"{{ c = local.f{slot}(a) b = local.f{slot}(c) }}"
        )
    return f"g (float[2] x) => (float[2] y) {{ y = local.f{depth}(x) }}\n" + "\n".join(functions)


def calling(depth: int) -> str:
    """Functions of which each calls the one before once."""
    return re.sub(r"\{ c = local\.f(\d+)\(a\) b = local\.f\d+\(c\) \}", r"{ b = local.f\1(a) }", doubling(depth))


def conditions(depth: int) -> str:
    """If in If."""
    text = f"y{depth} = Neg(x)"
    for slot in range(depth - 1, -1, -1):
        text = (
            f"y{slot} = If(c) <then_branch = t{slot} () => (float[2] y{slot + 1}) {{ {text} }}, "
            f"else_branch = e{slot} () => (float[2] z{slot}) {{ z{slot} = Abs(x) }}>"
        )
    return f"g (bool c, float[2] x) => (float[2] y0) {{ {text} }}"


FUNCTIONS = (
    model("functions that call twice", doubling(40), "levels"),
    model("functions that call twice, of as many levels as there may be", doubling(30), "nodes"),
    model("functions that call twice, of a few levels", doubling(8)),
    model("functions in a chain of 500", calling(500), "levels"),
    model("functions in a chain of 25", calling(25)),
    model(
        "a function that calls itself",
        'g (float[2] x) => (float[2] y) { y = local.f(x) } <domain: "local", '
        'opset_import: ["local" : 1]> f (a) => (b) { b = local.f(a) }',
        "calls itself",
    ),
    model("graphs in graphs", conditions(20)),
    model("graphs in graphs, nearly as deep as protobuf goes", conditions(31)),
    model(
        "a body that calls a function",
        "g (float[2] x, bool c) => (float[2] y) { y = If(c) <then_branch = t () => "
        '(float[2] p) { p = local.f(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }> } <domain: "local", '
        'opset_import: ["" : 18, "local": 1]> f (a) => (b) { k = Constant<value = bool {1}>() b = If(k) <then_branch '
        "= t () => (float[2] p) { p = local.f(a) }, else_branch = e () => (float[2] q) { q = Abs(a) }> }",
        "calls itself",
    ),
)

LOOP = "<body = b (int64 i, bool c, float[2] s) => (bool d, float[2] u) { d = Identity(c) u = Add(s, s) }>"
SCAN = (
    "<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] u, float[2] v) { u = Add(s, e) v = Neg(u) }>"
)


def loop(trips: int, target: str = "result-symbol.json", refused: str = "") -> Attack:
    """A Loop of a known trip count."""
    text = f"g (float[2] x) => (float[2] y) <int64 n = {{{trips}}}, bool t = {{1}}> {{ y = Loop(n, t, x) {LOOP} }}"
    return model(f"a loop of {trips} in {target}", text, refused, target=target)


def in_loops(depth: int, level: int = 0) -> str:
    """What a body of a Loop holds: another Loop, and so on."""
    if level == depth:
        return f"u{level} = Neg(s{level})"
    inner = level + 1
    return (
        f"u{level} = Loop(n, t, s{level}) <body = b{inner} (int64 i{inner}, bool c{inner}, float[2] s{inner}) => "
        f"(bool d{inner}, float[2] u{inner}) {{ d{inner} = Identity(c{inner}) {in_loops(depth, inner)} }}>"
    )


def loops(depth: int, target: str = "result-symbol.json") -> Attack:
    """Loops in loops, each of 60 iterations."""
    text = (
        "g (float[2] x) => (float[2] y) <int64 n = {60}, bool t = {1}> { y = Loop(n, t, x) <body = b0 (int64 i0, "
        f"bool c0, float[2] s0) => (bool d0, float[2] u0) {{ d0 = Identity(c0) {in_loops(depth)} }}> }}"
    )
    return model(f"loops in loops, {depth} deep, in {target}", text, target=target)


LOOPS = (
    loops(2),
    loops(6),
    loops(12),
    loops(29),
    loops(29, "result.onnx"),
    loop(10**9),
    loop(2**63 - 1),
    loop(15_000),
    loop(10**9, "result.onnx"),
    loop(10**9, "result.graphir.json"),
    model(
        "a loop in a loop in a loop",
        "g (float[2] x) => (float[2] y) <int64 n = {3000}, bool t = {1}> { y = Loop(n, t, x) <body = "
        "b (int64 i, bool c, float[2] s) => (bool d, float[2] u) { d = Identity(c) u = Loop(n, c, s) <body = k (int64 "
        "i2, bool c2, float[2] s2) => (bool d2, float[2] u2) { d2 = Identity(c2) u2 = Neg(s2) }> }> }",
        target="result-symbol.json",
    ),
    model(
        "a loop without an end",
        f"g (float[2] x) => (float[2] y) <bool t = {{1}}> {{ y = Loop(, t, x) {LOOP} }}",
        target="result-symbol.json",
    ),
    model(
        "a loop that grows what it carries",
        "g (float[2] x) => (float[k] y) <int64 n = {60}, bool t = {1}> { y = Loop(n, t, x) "
        "<body = b (int64 i, bool c, float[k] s) => (bool d, float[m] u) { d = Identity(c) u = Concat<axis = 0>(s, "
        "s) }> }",
        target="result-symbol.json",
    ),
    model(
        "a loop of constants that grow",
        "g (float[2] x) => (float[k] y) <int64 n = {60}, bool t = {1}, float[2] z = {1, 2}> { y = "
        "Loop(n, t, z) <body = b (int64 i, bool c, float[k] s) => (bool d, float[m] u) { d = Identity(c) "
        "u = Concat<axis = 0>(s, s) }> }",
        target="result-symbol.json",
    ),
    model(
        "a scan over a billion",
        f"g (float[2] o, float[1000000000, 2] x) => (float[2] y, float[1000000000, 2] z) "
        f"{{ y, z = Scan(o, x) {SCAN} }}",
        target="result-symbol.json",
    ),
    model(
        "a sequence of a billion parts",
        "g (float[1000000000, 2] x) => (float[1, 2] a) { s = SplitToSequence <axis = 0> (x) "
        "i = Constant <value_int = 1> () a = SequenceAt(s, i) }",
    ),
    model(
        "a sequence of a billion parts in MXNet",
        "g (float[1000000000, 2] x) => (float[1, 2] a) { s = SplitToSequence <axis = "
        "0> (x) i = Constant <value_int = 1> () a = SequenceAt(s, i) }",
        target="result-symbol.json",
    ),
    model(
        "a sequence mapped a million times",
        "g (float[1000000, 2] x) => (seq(float[2]) y) { s = SplitToSequence <axis = 0, keepdims "
        "= 0> (x) y = SequenceMap(s) <body = b (float[2] e) => (float[2] f) { f = Neg(e) }> }",
        target="result-symbol.json",
    ),
)


def nested_types(depth: int) -> bytes:
    """An input whose type is a sequence of a sequence of ..."""
    inner = write([Field(1, BYTES, content=write([Field(1, VARINT, 1)]))])
    for _ in range(depth):
        inner = write([Field(4, BYTES, content=write([Field(1, BYTES, content=inner)]))])
    made = parsed("g (float[3] x) => (float[3] y) { y = Neg(x) }")
    made.graph.input[0].ClearField("type")
    value = made.graph.input[0].SerializeToString() + write([Field(2, BYTES, content=inner)])
    del made.graph.input[:]
    return bytes(made.SerializeToString()) + write([Field(7, BYTES, content=write([Field(11, BYTES, content=value)]))])


def nested_attributes(depth: int) -> bytes:
    """Graphs in attributes of nodes, deeper than any reader goes."""
    graph = write([Field(2, BYTES, content=b"g")])
    for _ in range(depth):
        attribute = write([Field(1, BYTES, content=b"body"), Field(6, BYTES, content=graph)])
        node = write(
            [Field(4, BYTES, content=b"Loop"), Field(2, BYTES, content=b"y"), Field(5, BYTES, content=attribute)]
        )
        graph = write([Field(1, BYTES, content=node)])
    return bytes(write([Field(1, VARINT, 8), Field(7, BYTES, content=graph), Field(8, BYTES, content=b"\x10\x11")]))


WIRE = (
    raw("types in types", nested_types(20)),
    raw("types in types, deeper than protobuf", nested_types(200)),
    raw("attributes in attributes", nested_attributes(25)),
    raw("attributes in attributes, deeper than protobuf", nested_attributes(500)),
    raw("a length beyond the file", b"\x08\x08\x3a" + b"\xff" * 9 + b"\x01"),
    raw("a number without an end", b"\x08" + b"\xff" * 500),
    raw("groups", b"\x08\x08\x0b\x0b\x0b\x0c\x0c\x0c"),
    raw("one field 9,000 times", b"\x08\x08" * 4500),
    raw("an empty graph", b"\x08\x08\x3a\x00\x42\x02\x10\x11"),
    raw(
        "4,000 empty nodes",
        write([Field(1, VARINT, 8), Field(7, BYTES, content=b"\x0a\x00" * 4000), Field(8, BYTES, content=b"\x10\x11")]),
    ),
    raw(
        "2,000 nodes that are one",
        write(
            [
                Field(1, VARINT, 8),
                Field(7, BYTES, content=b"\x0a\x02\x22\x00" * 2000),
                Field(8, BYTES, content=b"\x10\x11"),
            ]
        ),
    ),
)

ROWS = (*FUNCTIONS, *LOOPS, *WIRE)

__all__ = ["ROWS", "calling", "doubling", "model", "parsed"]

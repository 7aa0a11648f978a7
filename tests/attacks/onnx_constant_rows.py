"""ONNX models of constants whose arithmetic overflows, grows or is hard."""

from __future__ import annotations

from tests.attacks.onnx_rows import model


def twice(operator: str, start: str, count: int, kind: str = "float") -> str:
    """Each node takes the one before twice."""
    lines = [start, *(f"v{slot + 1} = {operator}(v{slot}, v{slot})" for slot in range(count))]
    return f"g (float[2] x) => ({kind} v{count}) {{ {' '.join(lines)} }}"


ROWS = (
    model(
        "BitShift",
        "g (int64[3] x) => (int64[3] y) <int64[3] n = {9223372036854775807, -1, 64}> "
        '{ y = BitShift<direction = "LEFT">(n, n) }',
    ),
    model("Pow of integers", "g (int64[3] x) => (int64[1] y) <int64[1] n = {9223372036854775807}> { y = Pow(n, n) }"),
    model(
        "division by zero",
        "g (int64[3] x) => (int64[1] y) <int64[1] n = {5}, int64[1] z = {0}> { a = Div(n, z) y = Mod(a, z) }",
    ),
    model(
        "the lowest integer over -1",
        "g (int64[3] x) => (int64[1] y) <int64[1] n = {-9223372036854775808}, int64[1] z = {-1}> "
        "{ a = Div(n, z) b = Mod(n, z) c = Abs(n) d = Neg(a) y = Sum(a, b, c, d) }",
    ),
    model(
        "Mod of integers of constants",
        "g (int32[3] x) => (int32[1] y) <int32[1] n = {-2147483648}, int32[1] z = {-1}> { c = Div(n, z) y = Mod(c, "
        "z) }",
    ),
    model(
        "Unsqueeze far out",
        "g (float[3] x) => (float y) <int64[1] a = {9223372036854775807}> { z = Unsqueeze(x, a) y = "
        "ReduceSum<keepdims = 0>(z) }",
    ),
    model(
        "Unsqueeze many",
        "g (float[3] x) => (float y) <int64[99] a = {" + ", ".join(map(str, range(99))) + "}> { z = Unsqueeze(x, a) "
        "y = ReduceSum<keepdims = 0>(z) }",
    ),
    model("Gather far out", "g (float[3] x) => (float y) <int64 a = {9223372036854775807}> { y = Gather(x, a) }"),
    model(
        "Slice steps",
        "g (float[3] x) => (float[k] y) <int64[1] a = {-9223372036854775808}, int64[1] b = {9223372036854775807}, "
        "int64[1] "
        "c = {0}> { y = Slice(x, a, b, c, a) }",
    ),
    model("Cast to no type", "g (float[3] x) => (float[3] y) { y = Cast<to = 9223372036854775807>(x) }"),
    model(
        "texts that double", twice("StringConcat", 'v0 = Constant<value_string = "abcdefgh">()', 60, "string"), opset=20
    ),
    model(
        "texts that double, in MXNet",
        twice("StringConcat", 'v0 = Constant<value_string = "abcdefgh">()', 60, "string"),
        opset=20,
        target="result-symbol.json",
    ),
    model(
        "constants that double", twice("Concat<axis = 0>", "v0 = Constant<value_floats = [1.0, 2.0]>()", 62, "float[k]")
    ),
    model(
        "constants that double, in MXNet",
        twice("Concat<axis = 0>", "v0 = Constant<value_floats = [1.0, 2.0]>()", 62, "float[k]"),
        target="result-symbol.json",
    ),
    model(
        "known integers that double", twice("Concat<axis = 0>", "v0 = Constant<value_ints = [1, 2]>()", 62, "int64[k]")
    ),
    model(
        "known integers that double, in MXNet",
        twice("Concat<axis = 0>", "v0 = Constant<value_ints = [1, 2]>()", 62, "int64[k]"),
        target="result-symbol.json",
    ),
    model("integers that square", twice("Mul", "v0 = Constant<value_ints = [3000000000]>()", 62, "int64[k]")),
    model("sizes that square", twice("Mul", "v0 = Shape(x)", 62, "int64[k]")),
    model("data that double", twice("Concat<axis = 0>", "v0 = Neg(x)", 70, "float[k]")),
    model(
        "open sizes that square",
        "g (float[N] x) => (int64[1] y) { s0 = Shape(x) "
        + " ".join(f"s{slot + 1} = Mul(s{slot}, s{slot})" for slot in range(40))
        + " y = Identity(s40) }",
    ),
    model(
        "open sizes that add up",
        "g (float[N, M] x) => (int64[2] y) <int64[2] r = {1, 0}> { s0 = Shape(x) "
        + " ".join(
            f"t{slot} = Gather(s{slot}, r) p{slot} = Mul(s{slot}, t{slot}) s{slot + 1} = Add(p{slot}, s{slot})"
            for slot in range(30)
        )
        + " y = Identity(s30) }",
    ),
    model(
        "outer products of constants",
        "g (float[2] x) => (float[k, m] y) <int64[2] u = {1, -1}, int64[2] w = {-1, 1}, int64 a = {0}, "
        "int64 b = {60000}, int64 c = {1}> { r = Range(a, b, c) f = Cast<to = 1>(r) p = Reshape(f, u) q = Reshape(f, "
        "w) "
        "z = Reshape(p, w) t = Transpose(z) y = MatMul(t, q) }",
    ),
    model(
        "outer products of constants, in MXNet",
        "g (float[2] x) => (float[k, m] y) <int64[2] u = {1, -1}, int64[2] w = {-1, 1}, int64 a = {0}, "
        "int64 b = {60000}, int64 c = {1}> { r = Range(a, b, c) f = Cast<to = 1>(r) p = Reshape(f, u) q = Reshape(f, "
        "w) "
        "z = Reshape(p, w) t = Transpose(z) y = MatMul(t, q) }",
        target="result-symbol.json",
    ),
)

__all__ = ["ROWS"]

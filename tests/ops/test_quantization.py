"""Rules of the operators on quantized tensors."""

from __future__ import annotations

from graphir.ops.quantization import (
    ConvInteger,
    DequantizeLinear,
    DynamicQuantizeLinear,
    QLinearConv,
    QLinearMatMul,
    QuantizeLinear,
)
from graphir.padding import Explicit
from graphir.types import DType
from tests.ops.harness import backward, bad, good
from tests.ops.late import late

CONV = ("float32[]", "uint8[]", "int8[8,3,3,3]", "float32[8]", "int8[8]", "float32[]", "uint8[]")
MATMUL = ("float32[]", "int8[]", "int8[4,5]", "float32[5]", "int8[5]", "float32[]", "uint8[]")
PADDED = Explicit(((1, 1), (1, 1)))

GOOD = (
    (QuantizeLinear(), ("float32[N,3]", "float32[]"), ["uint8[N, 3]"]),
    (QuantizeLinear(), ("float32[N,3]", "float32[3]", "int8[3]"), ["int8[N, 3]"]),
    (QuantizeLinear(), ("float32[7]", "float32[1]"), ["uint8[7]"]),
    (QuantizeLinear(), ("float32[...]", "float32[?]", "?[?]"), ["?[...]"]),
    (QuantizeLinear(output_dtype=DType.INT4), ("float32[N,3]", "float32[]"), ["int4[N, 3]"]),
    (QuantizeLinear(axis=-1, block_size=4), ("float32[N,10]", "float32[N,3]"), ["uint8[N, 10]"]),
    (QuantizeLinear(axis=0), ("float32[2,3]", "float32[2]", "uint16[2]"), ["uint16[2, 3]"]),
    (DequantizeLinear(), ("int8[N,3]", "float16[]", "int8[]"), ["float16[N, 3]"]),
    (DequantizeLinear(), ("int32[...]", "float32[?]"), ["float32[...]"]),
    (DequantizeLinear(), ("int4[5]", "float32[]", "int4[1]"), ["float32[5]"]),
    (DequantizeLinear(output_dtype=DType.FLOAT32), ("int4[4]", "float8e8m0[]"), ["float32[4]"]),
    (DequantizeLinear(axis=0, block_size=2), ("uint4[4,N]", "float32[2,N]", "uint4[2,N]"), ["float32[4, N]"]),
    (DynamicQuantizeLinear(), ("float32[N,?]",), ["uint8[N, ?]", "float32[]", "uint8[]"]),
    (QLinearConv(), ("uint8[N,3,H,9]", *CONV), ["uint8[N, 8, H-2, 7]"]),
    (QLinearConv(padding=PADDED), ("uint8[1,3,7,7]", *CONV, "int32[8]"), ["uint8[1, 8, 7, 7]"]),
    (QLinearConv(), ("uint8[...]", *CONV), ["uint8[?, 8, ?, ?]"]),
    (ConvInteger(), ("uint8[1,3,H,9]", "int8[8,3,3,3]"), ["int32[1, 8, H-2, 7]"]),
    (ConvInteger(group=3), ("uint8[1,3,9]", "int8[6,1,3]", "uint8[]", "int8[6]"), ["int32[1, 6, 7]"]),
    (QLinearMatMul(), ("int8[N,3,4]", *MATMUL), ["uint8[N, 3, 5]"]),
    (QLinearMatMul(), ("int8[...]", *MATMUL), ["uint8[...]"]),
)

BAD = (
    (DynamicQuantizeLinear(), ("float64[2]",), "x is float64"),
    (QuantizeLinear(), ("float32[2,3]", "float32[2]"), "expected .3."),
    (QuantizeLinear(), ("float32[2,3]", "float32[2,3]"), "expected a scalar or a vector"),
    (QuantizeLinear(), ("float32[2,3]", "float32[3]", "int8[2]"), "shapes .3. and .2."),
    (QuantizeLinear(output_dtype=DType.INT8), ("float32[2]", "float32[]", "uint8[]"), "uint8 and int8 differ"),
    (QuantizeLinear(axis=5), ("float32[2,3]", "float32[3]"), "axis 5 does not exist"),
    (late(QuantizeLinear, block_size=-1), ("float32[2,3]", "float32[]"), "block_size is -1"),
    (QuantizeLinear(block_size=2), ("float32[2,4]", "float32[2,3]"), "expected .2, 2."),
    (DequantizeLinear(), ("int8[2,3]", "float32[]", "uint8[]"), "int8 and uint8 differ"),
    (QLinearConv(), ("int8[1,3,9,9]", *CONV), "int8 and uint8 differ"),
    (QLinearConv(), ("uint8[1,4,9,9]", *CONV), "4 channels"),
    (ConvInteger(), ("float32[1,3,9]", "int8[6,3,3]"), "x is float32"),
    (ConvInteger(), ("uint8[1,3,9]", "int8[6,3,3]", "int8[]"), "uint8 and int8 differ"),
    (QLinearMatMul(), ("int8[3,7]", *MATMUL), "7 columns meet 4 rows"),
    (QLinearMatMul(), ("uint8[3,4]", *MATMUL), "uint8 and int8 differ"),
)

BACKWARD = (
    (
        QuantizeLinear(),
        ("float32[...]", "float32[3]", "?[...]"),
        ("int8[N,3]",),
        ["float32[N, 3]", "float32[3]", "int8[3]"],
    ),
    (
        QuantizeLinear(axis=1, block_size=2),
        ("float32[N,4]", "float32[...]", "int8[...]"),
        ("int8[N,4]",),
        ["float32[N, 4]", "float32[N, 2]", "int8[N, 2]"],
    ),
    (DequantizeLinear(), ("?[...]", "?[]", "int8[...]"), ("float16[4]",), ["int8[4]", "float16[]", "int8[]"]),
    (DynamicQuantizeLinear(), ("?[...]",), ("uint8[4]", "float32[]", "uint8[]"), ["float32[4]"]),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)

"""Rules of attention and what stands beside it."""

from __future__ import annotations

from graphir.inference import infer_outputs
from graphir.ops.attention import (
    Attention,
    CausalConvWithState,
    LinearAttention,
    RotaryEmbedding,
    SwiGLU,
    TensorScatter,
    UpdateRule,
)
from tests.ops.harness import backward, bad, good
from tests.ops.late import late
from tests.ops.rule import tensor
from tests.typed import tensor_type

PACKED = Attention(q_num_heads=8, kv_num_heads=2)
LINEAR = LinearAttention(4, 2, UpdateRule.LINEAR)
QKV = ("float32[N,8,L,16]", "float32[N,2,S,16]", "float32[N,2,S,10]")
PACKED_QKV = ("float32[N,L,128]", "float32[N,S,32]", "float32[N,S,20]")
PAST = ("float32[N,2,P,16]", "float32[N,2,P,10]")
STATES = ["float32[N, 2, S, 16]", "float32[N, 2, S, 10]", "float32[N, 8, L, S]"]
LATER = ["float32[N, 2, P+S, 16]", "float32[N, 2, P+S, 10]", "float32[N, 8, L, P+S]"]

GOOD = (
    (Attention(), QKV, ["float32[N, 8, L, 10]", *STATES]),
    (PACKED, PACKED_QKV, ["float32[N, L, 80]", *STATES]),
    (Attention(), (*QKV, "bool[L,S]", *PAST), ["float32[N, 8, L, 10]", *LATER]),
    (PACKED, (*PACKED_QKV, None, *PAST), ["float32[N, L, 80]", *LATER]),
    (
        Attention(),
        ("float32[...]", "float32[1,2,6,16]", "float16[...]"),
        ["float32[...]", "float32[1, 2, 6, 16]", "float16[1, 2, 6, ?]", "float32[1, ?, ?, 6]"],
    ),
    (RotaryEmbedding(), ("float32[N,8,L,16]", "float32[N,L,8]", "float32[N,L,8]"), ["float32[N, 8, L, 16]"]),
    (
        RotaryEmbedding(8),
        ("float32[N,L,128]", "float32[50,8]", "float32[50,8]", "int64[N,L]"),
        ["float32[N, L, 128]"],
    ),
    (TensorScatter(), ("float32[N,8,64,16]", "float32[N,8,L,16]", "int64[N]"), ["float32[N, 8, 64, 16]"]),
    (TensorScatter(1), ("float32[N,64,16]", "float32[...]"), ["float32[N, 64, 16]"]),
    (
        LINEAR,
        ("float32[N,L,64]", "float32[N,L,32]", "float32[N,L,20]"),
        ["float32[N, L, 40]", "float32[N, 2, 16, 10]"],
    ),
    (
        LINEAR,
        ("float16[...]", "float16[2,L,32]", "float16[2,L,?]", "float32[2,2,?,10]"),
        ["float16[2, L, ?]", "float32[2, 2, 16, 10]"],
    ),
    (CausalConvWithState(), ("float32[N,6,L]", "float32[6,1,4]"), ["float32[N, 6, L]", "float32[N, 6, 3]"]),
    (
        CausalConvWithState(),
        ("float32[N,?,L]", "float32[...]", "float32[6]", "float32[N,6,3]"),
        ["float32[N, 6, L]", "float32[N, 6, 3]"],
    ),
    (SwiGLU(), ("float32[N,?]", "float32[?,4]"), ["float32[N, 4]"]),
)

BAD = (
    (Attention(), PACKED_QKV, "must be stated"),
    (Attention(), ("float32[1,8,4]", *QKV[1:]), "must be stated"),
    (Attention(), ("float32[1,8]", *QKV[1:]), "expected 3 or 4 axes"),
    (Attention(3, 2), PACKED_QKV, "3 heads do not divide"),
    (Attention(), ("float32[1,7,4,16]", *QKV[1:]), "7 heads of queries cannot share 2"),
    (Attention(), ("float32[1,8,4,15]", *QKV[1:]), "head sizes of Q and K differ: 15, 16"),
    (Attention(), (*QKV, None, "float32[1,3,5,16]", PAST[1]), "heads of keys and values differ"),
    (Attention(), ("float32[2,8,4,16]", "float32[3,8,4,16]", "float32[3,8,4,16]"), "batch sizes"),
    (Attention(), ("float16[N,8,L,16]", *QKV[1:]), "float16 and float32 differ"),
    (RotaryEmbedding(), ("float32[N,L,128]", "float32[N,L,8]", "float32[N,L,8]"), "must be stated"),
    (RotaryEmbedding(), ("float32[1,8,4,16]", "float32[4,8]", "float32[4,8]"), "cos_cache"),
    (RotaryEmbedding(), ("float32[1,8,4,16]", "float32[1,4,8]", "float32[1,4,7]"), "the caches"),
    (TensorScatter(0), ("float32[2,3]", "float32[2,3]"), "axis 0"),
    (TensorScatter(1), ("float32[2,3]", "float32[2,4]"), "does not fit"),
    (TensorScatter(1), ("float32[2,3,4]", "float32[3,3,4]"), "does not fit"),
    (TensorScatter(1), ("float32[2,3,4]", "float32[3,4]"), "does not fit"),
    (LinearAttention(4, 2), ("float32[1,3,64]", "float32[1,3,32]", "float32[1,3,20]"), "needs decay"),
    (
        LinearAttention(4, 2, UpdateRule.DELTA),
        ("float32[1,3,64]", "float32[1,3,32]", "float32[1,3,20]"),
        "needs beta",
    ),
    (late(LinearAttention, 4, 3, UpdateRule.LINEAR), ("float32[...]",) * 3, "expected a multiple of kv_num_heads .3."),
    (LINEAR, ("float32[1,3,64]", "float32[1,4,32]", "float32[1,4,20]"), "lengths"),
    (LINEAR, ("float32[1,3,64]", "float32[1,3,34]", "float32[1,3,20]"), "head sizes"),
    (LINEAR, ("float32[1,3,64]", "float32[1,3,32]", "float32[1,3,20]", "float32[1,2,16,9]"), "past_state"),
    (CausalConvWithState(), ("float32[1,6,9]", "float32[6,2,4]"), "expected .C, 1, k."),
    (CausalConvWithState(), ("float32[1,6,9]", "float32[5,1,4]"), "channels"),
    (CausalConvWithState(), ("float32[1,6,9]", "float32[6,1,4]", None, "float32[1,6,2]"), "past_state"),
    (SwiGLU(), ("float32[2]", "float32[1]"), "differ|contradict"),
)

BACKWARD = (
    (SwiGLU(), ("?[...]", "?[2,?]"), ("float16[2,3]",), ["float16[2, 3]", "float16[2, 3]"]),
    (TensorScatter(), ("?[...]", "?[1,2,3]"), ("float16[1,4,3]",), ["float16[1, 4, 3]", "float16[1, 2, 3]"]),
    (
        CausalConvWithState(),
        ("float32[...]", "?[...]", "?[...]"),
        ("float32[1,6,9]", "float32[1,6,3]"),
        ["float32[1, 6, 9]", "float32[6, 1, ?]", "float32[6]"],
    ),
    (
        RotaryEmbedding(),
        ("?[...]", "?[...]", "?[...]"),
        ("float16[1,2,3,4]",),
        ["float16[1, 2, 3, 4]", "float16[...]", "float16[...]"],
    ),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)


def test_attention_counts_both_products() -> None:
    operands = tuple(map(tensor, ("float32[1,8,4,16]", "float32[1,2,6,16]", "float32[1,2,6,10]")))
    found = infer_outputs(Attention(), operands, (None,) * 3)
    assert Attention().macs(operands, tuple(map(tensor_type, found))) == 8 * 4 * 6 * (16 + 10)

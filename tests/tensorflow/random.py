"""Random numbers: what does not depend on which numbers are drawn, their shape and dtype, range and number."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, Network, data, ints, values
from tests.tensorflow.graphdef import node
from tests.tensorflow.networks import network

SEED = ints(1, 2, name="seed")
SIZES = ints(3, 40, name="sizes")
LIMITS = (ints(-3, name="low", shape=()), ints(12, name="high", shape=()))
KEYS = (
    node("StatelessRandomGetKeyCounter", "state", ["seed"], Tseed="int32"),
    node("StatelessRandomGetAlg", "alg"),
)


def floats(op: str, variant: str, *operands: str, dtype: str = "float32", before: tuple[Any, ...] = (),
           inputs: tuple[Input, ...] = (SIZES,), highest: float = 9.0, **attrs: Any) -> Network:  # fmt: skip
    """Numbers within reach: whether all of them lie below `highest`, and their shape."""
    nodes = (
        *before,
        node(op, "drawn", ["sizes", *operands], dtype=dtype, **attrs),
        node("Cast", "wide", ["drawn"], SrcT=dtype, DstT="float32"),
        node("Abs", "size", ["wide"], T="float32"),
        node("Less", "y", ["size", "most"], T="float32"),
    )
    most = Input("most", (), values=(highest,), role="param")
    return network(f"{op}-{variant}", *nodes, inputs=(*inputs, most), open_axes="")


def wholes(op: str, *operands: str, before: tuple[Any, ...] = (), inputs: tuple[Input, ...] = (SIZES,),
           **attrs: Any) -> Network:  # fmt: skip
    """Whole numbers from the lowest to below the highest: whether they are."""
    return network(
        op, *before, node(op, "drawn", ["sizes", *operands, "low", "high"], **attrs),
        node("Less", "below", ["drawn", "high"], T="int32"),
        node("GreaterEqual", "above", ["drawn", "low"], T="int32"),
        node("LogicalAnd", "y", ["below", "above"]), inputs=(*inputs, *LIMITS), open_axes="",
    )  # fmt: skip


def classes(op: str, *operands: str, inputs: tuple[Input, ...] = (), **attrs: Any) -> Network:
    """Classes by logits that leave only one."""
    logits = values(-1e4, 0, -1e4, -1e4, -1e4, 0, name="logits", shape=(2, 3))
    return network(
        op, node(op, "y", ["logits", "count", *operands], T="float32", output_dtype="int32", **attrs),
        inputs=(logits, ints(5, name="count", shape=()), *inputs), runs_until=21,
    )  # fmt: skip


def shuffled(variant: str, **more: Any) -> Network:
    """Rows in any order: their sum."""
    return network(
        f"RandomShuffle-{variant}", node("RandomShuffle", "rows", ["x"], T="float64", seed=3),
        node("Sum", "y", ["rows", "first"], T="float64"),
        inputs=(data(7, 3, dtype="float64", name="x"), ints(0, name="first")), **more,
    )  # fmt: skip


CASES: tuple[Case, ...] = (
    network("RandomShuffle-scalar", node("RandomShuffle", "y", ["x"], T="float32"), inputs=(data(name="x"),)),
    floats("RandomUniform", "default", T="int32", highest=1.0),
    floats("RandomUniform", "seed", T="int32", highest=1.0, seed=7, seed2=9),
    floats("RandomUniform", "float64", T="int32", dtype="float64", highest=1.0),
    floats("RandomUniform", "float16", T="int32", dtype="float16", highest=1.5),
    floats("RandomStandardNormal", "default", T="int32"),
    floats("StatelessRandomUniform", "default", "seed", T="int32", Tseed="int32", inputs=(SIZES, SEED)),
    floats("StatelessRandomNormal", "default", "seed", T="int32", Tseed="int32", inputs=(SIZES, SEED)),
    *(floats(op, "default", "state", "state:1", "alg", Tshape="int32", inputs=(SIZES, SEED), before=KEYS)
      for op in ("StatelessRandomUniformV2", "StatelessRandomNormalV2")),
    floats("StatelessRandomUniformV2", "key_counter_alg", "state", "state:1", "state:2", Tshape="int32",
           inputs=(SIZES, SEED), before=(node("StatelessRandomGetKeyCounterAlg", "state", ["seed"], Tseed="int32"),)),
    network("RandomUniform-computed_sizes", node("Shape", "sizes", ["x"], T="float32"),
            node("RandomUniform", "drawn", ["sizes"], T="int32", dtype="float32"),
            node("Less", "y", ["drawn", "one"], T="float32"),
            inputs=(data(4, 5, name="x"), Input("one", (), values=(1.0,), role="param"))),
    wholes("RandomUniformInt", Tout="int32", T="int32"),
    wholes("StatelessRandomUniformInt", "seed", dtype="int32", T="int32", Tseed="int32", inputs=(SIZES, SEED)),
    wholes("StatelessRandomUniformIntV2", "state", "state:1", "alg", dtype="int32", Tshape="int32",
           inputs=(SIZES, SEED), before=KEYS),
    classes("Multinomial", seed=4),
    classes("StatelessMultinomial", "seed", Tseed="int32", inputs=(SEED,)),
    shuffled("default"),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    network("Multinomial-computed", node("Multinomial", "y", ["logits", "count"], T="float32"),
            inputs=(data(2, 3, name="logits"), data(dtype="int32", name="count")), reason="the number of samples"),
)  # fmt: skip

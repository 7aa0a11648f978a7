"""Lists of tensors, and TensorFlow 1's TensorArrays."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, Network, data, ints
from tests.tensorflow.control import ADD_ONE, B, F, I
from tests.tensorflow.graphdef import const, function, node
from tests.tensorflow.networks import network

X = data(3, 4, name="x")
LIST = {"element_dtype": F, "shape_type": I}
FROM_TENSOR = (const("shape", [4], I), node("TensorListFromTensor", "list", ["x", "shape"], **LIST))


def _stack(source: str, name: str = "y", shape: str = "shape", **attrs: Any) -> dict[str, Any]:
    return node("TensorListStack", name, [source, shape], element_dtype=F, **attrs)


def _case(title: str, *nodes: dict[str, Any], inputs: tuple[Input, ...] = (X,), **more: Any) -> Network:
    return network(title, *nodes, inputs=inputs, **more)


SIMPLE: tuple[Case, ...] = (
    _case("stack", *FROM_TENSOR, _stack("list")),
    _case("stack-counted", *FROM_TENSOR, _stack("list", num_elements=3)),
    _case("get-item", *FROM_TENSOR, node("TensorListGetItem", "y", ["list", "i", "shape"], element_dtype=F),
          inputs=(X, ints(2, name="i", shape=()))),
    _case("get-item-fed", *FROM_TENSOR, node("TensorListGetItem", "y", ["list", "i", "shape"], element_dtype=F),
          inputs=(X, Input("i", (), I, values=(1,)))),
    _case("set-item", *FROM_TENSOR, node("TensorListSetItem", "set", ["list", "i", "z"], element_dtype=F),
          _stack("set"), inputs=(X, data(4, name="z"), Input("i", (), I, values=(1,)))),
    _case("set-item-reserved", const("shape", [-1], I), node("TensorListReserve", "list", ["shape", "n"], **LIST),
          node("TensorListSetItem", "set", ["list", "i", "z"], element_dtype=F), _stack("set"),
          inputs=(ints(3, name="n", shape=()), data(4, name="z"), ints(1, name="i", shape=()))),
    _case("reserved", const("shape", [2, 3], I), node("TensorListReserve", "list", ["shape", "n"], **LIST),
          _stack("list"), inputs=(ints(3, name="n", shape=()),), open_axes=""),
    _case("length", *FROM_TENSOR, node("TensorListLength", "y", ["list"])),
    _case("length-reserved", const("shape", [2, 3], I), node("TensorListReserve", "list", ["shape", "n"], **LIST),
          node("TensorListLength", "y", ["list"]), inputs=(Input("n", (), I, values=(5,)),)),
    _case("resize", const("shape", [2], I), node("EmptyTensorList", "list", ["shape", "n"], **LIST),
          node("TensorListResize", "more", ["list", "n"]), _stack("more"), inputs=(ints(3, name="n", shape=()),),
          open_axes=""),
    _case("push-back", *FROM_TENSOR, node("TensorListPushBack", "more", ["list", "z"], element_dtype=F), _stack("more"),
          inputs=(X, data(4, name="z"))),
    _case("push-back-empty", const("shape", [-1], I), const("most", -1, I),
          node("EmptyTensorList", "list", ["shape", "most"], **LIST),
          node("TensorListPushBack", "one", ["list", "z"], element_dtype=F),
          node("TensorListPushBack", "two", ["one", "z"], element_dtype=F), _stack("two"),
          inputs=(data(4, name="z"),)),
    _case("pop-back", *FROM_TENSOR, node("TensorListPopBack", "pop", ["list", "shape"], element_dtype=F),
          _stack("pop", "rest"), node("AddV2", "y", ["rest", "pop:1"], T=F)),
    _case("gather", *FROM_TENSOR, node("TensorListGather", "y", ["list", "places", "shape"], element_dtype=F),
          inputs=(X, ints(2, 0, 2, name="places"))),
    _case("gather-all", *FROM_TENSOR, node("TensorListGather", "y", ["list", "places", "shape"], element_dtype=F),
          inputs=(X, ints(0, 1, 2, name="places"))),
    _case("gather-fed", *FROM_TENSOR, node("TensorListGather", "y", ["list", "places", "shape"], element_dtype=F),
          inputs=(X, Input("places", (2,), I, values=(1, 0)))),
    _case("scatter", const("shape", [4], I), node("TensorListScatter", "list", ["x", "places", "shape"], **LIST),
          _stack("list"), inputs=(X, ints(0, 1, 2, name="places"))),
    _case("scatter-v2", const("shape", [4], I),
          node("TensorListScatterV2", "list", ["x", "places", "shape", "n"], **LIST),
          _stack("list"), inputs=(X, ints(0, 1, 2, name="places"), ints(-1, name="n", shape=()))),
    _case("scatter-existing", *FROM_TENSOR,
          node("TensorListScatterIntoExistingList", "set", ["list", "z", "places"], element_dtype=F), _stack("set"),
          inputs=(X, data(2, 4, name="z"), ints(2, 0, name="places"))),
    _case("scatter-reserved", const("shape", [4], I), node("TensorListReserve", "list", ["shape", "n"], **LIST),
          node("TensorListScatterIntoExistingList", "set", ["list", "x", "places"], element_dtype=F), _stack("set"),
          inputs=(X, ints(3, name="n", shape=()), ints(0, 1, 2, name="places"))),
    _case("concat", *FROM_TENSOR, node("TensorListConcat", "y", ["list"], element_dtype=F, element_shape=(4,))),
    _case("concat-v2", const("shape", [4, 2], I), const("dims", [], "int64"),
          node("TensorListFromTensor", "list", ["x", "shape"], **LIST),
          node("TensorListConcatV2", "y", ["list", "shape", "dims"], **LIST), inputs=(data(3, 4, 2, name="x"),)),
)  # fmt: skip

VARIABLES = {"i": I, "l": "variant", "n": I, "z": F}
BELOW = function("condition", VARIABLES, {"on": (B, "below:z:0")}, node("Less", "below", ["i", "n"], T=I))
TERM = (node("Cast", "weight", ["i"], SrcT=I, DstT=F), node("Mul", "term", ["z", "weight:y:0"], T=F))


def _loop(
    title: str, source: tuple[dict[str, Any], ...], write: dict[str, Any], *more: dict[str, Any], **others: Any
) -> Network:
    """A loop of `n` iterations that writes z times the counter into a list; z is from around."""
    body = function(
        "body", VARIABLES,
        {"i1": (I, "next:z:0"), "l1": ("variant", f"{write['name']}:output_handle:0"), "n1": (I, "n"), "z1": (F, "z")},
        *ADD_ONE, *TERM, *more, write,
    )  # fmt: skip
    nodes = (
        const("i", 0, I), const("shape", [4], I), const("shape_like", [-1], I), *source,
        node("While", "loop", ["i", "list", "n", "z"], T=[I, "variant", I, F], cond="condition", body="body"),
        *(
            [_stack("loop:1", "rows"), const("first", [0], I), node("Sum", "y", ["rows", "first"], T=F)]
            if others.pop("total", False)
            else [_stack("loop:1")]
        ),
    )  # fmt: skip
    inputs = others.pop("inputs", (ints(3, name="n", shape=()), data(4, name="z")))
    return network(title, *nodes, inputs=inputs, functions=(BELOW, body), **others)


RESERVED = (node("TensorListReserve", "list", ["shape_like", "n"], **LIST),)
SET = node("TensorListSetItem", "set", ["l", "i", "term:z:0"], element_dtype=F)
PUSH = node("TensorListPushBack", "push", ["l", "term:z:0"], element_dtype=F)
FIRST = node("TensorListSetItem", "set", ["l", "zero:output:0", "term:z:0"], element_dtype=F)
BACKWARDS = node("TensorListSetItem", "set", ["l", "place:z:0", "term:z:0"], element_dtype=F)
GIVEN = (node("TensorListFromTensor", "list", ["x", "shape"], **LIST),)
SCALAR = "MXNet has no arrays without axes that could be fed"
FED = (Input("n", (), I, values=(3,)), data(4, name="z"))

IN_LOOPS: tuple[Case, ...] = (
    _loop("loop-writes", RESERVED, SET),
    _loop("loop-writes-fed-length", RESERVED, SET, inputs=FED, total=True, mxnet_lacks=SCALAR),
    _loop("loop-appends",
          (const("most", -1, I), node("EmptyTensorList", "list", ["shape_like", "most"], **LIST)), PUSH),
    _loop("loop-appends-to-elements", GIVEN, PUSH, inputs=(*FED, X), total=True, mxnet_lacks=SCALAR),
    _loop("loop-grows", (const("none", 0, I), node("TensorListReserve", "list", ["shape_like", "none"], **LIST)),
          SET | {"attr": SET["attr"] | {"resize_if_index_out_of_bounds": {"b": True}}}),
    _loop("loop-overwrites",
          (const("single", 1, I), node("TensorListReserve", "list", ["shape_like", "single"], **LIST)),
          FIRST, const("zero", 0, I)),
    _loop("loop-writes-over-elements", GIVEN, BACKWARDS, const("two", 2, I),
          node("Sub", "place", ["two:output:0", "i"], T=I), inputs=(*FED, X), mxnet_lacks=SCALAR),
    _loop("loop-writes-backwards", (node("TensorListReserve", "list", ["shape", "n"], **LIST),), BACKWARDS,
          const("two", 2, I), node("Sub", "place", ["two:output:0", "i"], T=I),
          inputs=(ints(3, name="n", shape=()), FED[1])),
)  # fmt: skip


def _array(op: str, name: str, *inputs: str, **attrs: Any) -> dict[str, Any]:
    return node(f"TensorArray{op}V3", name, inputs, **attrs)


OLD_NODES = (
    _array("", "array", "n", dtype=F),
    _array("Scatter", "filled", "array", "places", "x", "array:1", T=F),
)
OLD_INPUTS = (X, ints(3, name="n", shape=()), ints(0, 1, 2, name="places"))
OLD: tuple[Case, ...] = (
    _case("array-read", *OLD_NODES, _array("Read", "y", "array", "i", "filled", dtype=F),
          inputs=(*OLD_INPUTS, ints(1, name="i", shape=()))),
    _case("array-gather", *OLD_NODES, _array("Gather", "y", "array", "back", "filled", dtype=F),
          inputs=(*OLD_INPUTS, ints(2, 0, name="back"))),
    _case("array-size", *OLD_NODES, _array("Size", "y", "array", "filled"), inputs=OLD_INPUTS),
    _case("array-concat", *OLD_NODES, _array("Concat", "y", "array", "filled", dtype=F), inputs=OLD_INPUTS),
    _case("array-write", _array("", "array", "n", dtype=F, element_shape=(4,)),
          _array("Write", "w0", "array", "zero", "z", "array:1", T=F), node("Neg", "neg", ["z"], T=F),
          _array("Write", "w1", "array", "one", "neg", "w0", T=F),
          _array("Gather", "y", "array", "places", "w1", dtype=F),
          inputs=(ints(2, name="n", shape=()), ints(0, name="zero", shape=()), ints(1, name="one", shape=()),
                  data(4, name="z"), ints(0, 1, name="places"))),
)  # fmt: skip

CASES: tuple[Case, ...] = (*SIMPLE, *IN_LOOPS, *OLD)
REFUSED: tuple[Case, ...] = (
    _case("no-shape", const("shape", [-1], I), node("TensorListReserve", "list", ["shape", "n"], **LIST),
          _stack("list"), inputs=(ints(3, name="n", shape=()),), reason="whose elements' shape is not known"),
    _case("other-order", const("shape", [4], I), node("TensorListScatter", "y", ["x", "places", "shape"], **LIST),
          inputs=(X, ints(2, 1, 0, name="places")), reason="another order"),
)  # fmt: skip

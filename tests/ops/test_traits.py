"""The traits of operators: every class states them, and what it states is so."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from numpy.typing import NDArray

import graphir
from graphir.graph import Graph
from graphir.ops import Operator, operator_table, traits_of
from graphir.ops.activation import LogSoftmax, Softmax
from graphir.ops.elementwise import Mod
from graphir.ops.foreign import TRAITS_OF
from graphir.ops.indexing import Reduction, ScatterElements, ScatterND
from graphir.ops.traits import DecisionTrait, Elementwise, Rounding, Saturation
from graphir.types import DType, TensorType

Array = NDArray[Any]
EDGES = [1e30, -1e30, 100.0, -100.0, 1e-30, 0.99999994, 1.5, -0.25, 0.0]
NUMBERS = np.array([*EDGES, *np.random.Generator(np.random.PCG64(7)).standard_normal(55)], np.float32)
DEFAULTS_ROUND_NOTHING = {"Shrink"}


def session_of(text: str) -> onnxruntime.InferenceSession:
    """A model of opset 17 in onnxruntime, its results of any shape."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def states(cls: type[Operator], trait: str) -> bool:
    """Whether the class, or a base of its family, states a trait."""
    return any(trait in vars(base) for base in cls.__mro__ if base is not Operator)


def is_function(cls: type[Operator]) -> bool:
    """Whether an operator takes real numbers element by element and gives some, with its default attributes: Mod of
    those needs `fmod`."""
    slots = len([name for name in cls.inputs if not name.endswith("?")])
    taken = all(takes is None or DType.FLOAT32 in takes for takes in cls.takes[:slots])
    if cls.elementwise is Elementwise.NO or not taken or cls is Mod or set(cls.field_names) > set(cls.field_defaults):
        return False
    given = cls().infer(*[TensorType(DType.FLOAT32, (2,))] * slots)
    return (given[0] if isinstance(given, tuple) else given) == TensorType(DType.FLOAT32, (2,))


FUNCTIONS = sorted(name for name, cls in operator_table().items() if is_function(cls))


@functools.cache
def results(name: str) -> Array:
    """What an operator makes of NUMBERS, and of their reverse where it takes two operands."""
    cls = operator_table()[name]
    graph = Graph("one")
    count = max(len([text for text in cls.inputs if not text.endswith("?")]), 2 if cls.most_inputs is None else 1)
    operands = [graph.add_input(f"x{slot}", TensorType(DType.FLOAT32, NUMBERS.shape)) for slot in range(count)]
    graph.set_outputs(graph.add_node(cls(), operands, name="y").outputs[:1])
    feeds = {"x0": NUMBERS, "x1": NUMBERS[::-1].copy()}
    return graphir.Session(graph, providers="cpu").run(dict(list(feeds.items())[:count]))[graph.outputs[0].name]


@pytest.mark.parametrize("name", sorted(set(operator_table()) - {"Foreign"}))
def test_every_operator_states_its_traits(name: str) -> None:
    cls = operator_table()[name]
    assert states(cls, "rounding"), f"{name} does not state how it rounds"
    assert cls.rounding is not Rounding.UNKNOWN
    if cls.rounding in (Rounding.EXACT, Rounding.TESTS):
        assert states(cls, "decides"), f"{name} compares or computes exactly: state what it decides, or NOTHING"
    if cls.rounding in (Rounding.OF_ONE, Rounding.EXPONENTIAL):
        assert states(cls, "saturates"), f"{name} is a function of real numbers: state whether it saturates"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_rounds_nothing_gives_its_operands_or_whole_numbers(name: str) -> None:
    found = results(name)
    found = np.abs(found[np.isfinite(found)])
    kept = np.isin(found, np.abs(NUMBERS)) | (found == np.round(found))
    assert kept.all() == (operator_table()[name].rounding.is_exact or name in DEFAULTS_ROUND_NOTHING)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "Clip"])
def test_what_saturates_is_bounded(name: str) -> None:
    found = results(name)
    bounded = float(np.abs(found[np.isfinite(found)]).max()) <= 3.15
    assert bounded == (operator_table()[name].saturates >= Saturation.BOUNDED)


@pytest.mark.parametrize("op", [Softmax(), LogSoftmax()])
def test_a_softmax_sees_no_shift(op: Operator) -> None:
    assert op.saturates is Saturation.SHIFTLESS
    graph = Graph("one")
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 5)))
    graph.set_outputs([graph.add(op, data, name="y")])
    session = graphir.Session(graph, providers="cpu")
    x = NUMBERS[-10:].reshape(2, 5)
    assert np.allclose(session.run({"x": x})["y"], session.run({"x": x + 3})["y"], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "decides"),
    [
        ("Add", DecisionTrait.NOTHING), ("And", DecisionTrait.NOTHING), ("Gather", DecisionTrait.NOTHING),
        ("Relu", DecisionTrait.LIMITS), ("Max", DecisionTrait.LIMITS), ("MaxPool", DecisionTrait.LIMITS),
        ("Less", DecisionTrait.STEPS), ("Floor", DecisionTrait.STEPS),
        ("ThresholdedRelu", DecisionTrait.STEPS), ("Shrink", DecisionTrait.STEPS), ("NonZero", DecisionTrait.STEPS),
        ("ArgMax", DecisionTrait.ORDERS), ("Hardmax", DecisionTrait.ORDERS), ("Unique", DecisionTrait.ORDERS),
        ("TopK", DecisionTrait.CUTS), ("BoxNMS", DecisionTrait.CUTS), ("NonMaxSuppression", DecisionTrait.CUTS),
    ],
)  # fmt: skip
def test_what_operators_decide(name: str, decides: DecisionTrait) -> None:
    assert operator_table()[name].decides is decides


@pytest.mark.parametrize("op", [ScatterElements, ScatterND])
def test_a_scatter_that_adds_or_multiplies_rounds(op: Any) -> None:
    exact = {reduction for reduction in Reduction if op(reduction=reduction).is_exact}
    assert exact == {Reduction.NONE, Reduction.MAX, Reduction.MIN}


def test_foreign_operators_have_traits_of_known_ones() -> None:
    assert set(TRAITS_OF.values()) <= set(operator_table())
    assert set(TRAITS_OF).isdisjoint(operator_table())
    assert traits_of("FusedMatMul").rounding is Rounding.PRODUCTS
    assert traits_of("NobodyKnowsIt").rounding is Rounding.UNKNOWN


def test_an_operator_that_computes_nothing_has_its_work_from_its_rounding() -> None:
    free = {name for name, cls in operator_table().items() if cls.work is not None and cls.work is cls.rounding.work}
    assert {"Reshape", "Gather", "Shape", "Cast", "Fill", "RandomNormal", "If", "SequenceAt", "StringConcat"} <= free


ROOT = Path(graphir.__file__).parent
WITHOUT_TRAITS = {
    "inputs/roles.py": "which operands of integers may be any number",
    "passes/half/choice.py": "operands that stay float32, loops, and what ONNX has not in a dtype",
    "passes/recurrent/to_loop.py": "activations that a recurrent layer has unless it states others",
    "runtime/kernels.py": "kernels that onnxruntime states and does not have",
}


def literals(text: str) -> Iterator[list[str]]:
    """The texts that stand together in a set, a tuple, a list or as keys."""
    for node in ast.walk(ast.parse(text)):
        held = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        yield [item.value for item in held if isinstance(item, ast.Constant) and isinstance(item.value, str)]


@pytest.mark.parametrize("folder", ["inputs", "verification", "passes", "runtime", "analysis/memory"])
def test_sets_of_operator_names_are_traits(folder: str) -> None:
    names = set(operator_table())
    found = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")
        if any(len(names.intersection(texts)) > 1 for texts in literals(path.read_text(encoding="utf-8")))
    }  # fmt: skip
    excused = {name for name in WITHOUT_TRAITS if name.startswith(f"{folder}/")}
    assert found == excused, "state a trait on the operators instead; drop what needs no excuse any more"


AVERAGES = ["ReduceMean<axes = [1]>(x)", "ReduceMax<axes = [2, 3]>(x)", "ReduceMin(x)", "Clip(x, low)",
            "AveragePool<kernel_shape = [3, 2], pads = [1, 0, 0, 1]>(x)", "MaxPool<kernel_shape = [2, 2]>(x)",
            "GlobalAveragePool(x)", "GlobalMaxPool(x)", "Transpose(x)"]  # fmt: skip


@pytest.mark.parametrize("text", AVERAGES)
def test_what_is_nonexpansive_hands_on_no_more_than_it_reads(text: str) -> None:
    assert traits_of(text[: text.index("(")].split("<")[0]).nonexpansive
    session = session_of(f"g (float[2, 3, 5, 4] x) => (float y) <float low = {{0.25}}> {{ y = {text} }}")
    numbers = NUMBERS[9:].repeat(3)[:120].reshape(2, 3, 5, 4)
    moved = numbers + np.random.Generator(np.random.PCG64(2)).uniform(-0.1, 0.1, numbers.shape).astype(np.float32)
    results = [session.run(None, {"x": array})[0] for array in (numbers, moved)]
    assert np.abs(results[1] - results[0]).max() <= np.abs(moved - numbers).max() + 1e-6


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceL1", "Mul", "Neg", "Conv", "Softmax", "Sigmoid", "Exp"])
def test_what_computes_otherwise_does_not_claim_it(name: str) -> None:
    assert not traits_of(name).nonexpansive

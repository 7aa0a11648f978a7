"""Operators that do not fit: whole files whose nodes have operands of other ranks, sizes, types and numbers, other
attributes, or none. The other formats damage files; here every file is sound and what it says is not."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from graphir.errors import GraphirError
from tests.equivalence.case import Case as MXNetRow
from tests.equivalence.case import Input
from tests.fuzz.case import Format, Model, Random, number
from tests.fuzz.formats.mxnet import attribute_text
from tests.fuzz.seeds import LazySeeds, mxnet_model
from tests.tensorflow.case import Case as TensorFlowRow
from tests.typed import present

SHAPES: tuple[tuple[int, ...], ...] = (
    (), (0,), (1,), (2,), (3,), (4,), (2, 3), (0, 3), (3, 1), (1, 2, 0), (2, 3, 4), (1, 2, 3, 4), (1, 1, 1, 1),
    (2, 0, 3, 4), (1, 2, 3, 4, 5), (1,) * 7, (2, 2, 2, 2, 2, 2), (65536,), (1, 1 << 20),
)  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e38, 3.5e38, float("inf"), -float("inf"), float("nan"))
TEXTS = ("", "x", "NCHW", "NHWC", "VALID", "SAME", "SAME_UPPER", "EXPLICIT", "reflect", "linear", "\0", "lstm")
SMALL = 4096  # elements of a constant operand
MANY = 256  # heads of a symbol


@dataclass(frozen=True)
class Row(Model):
    """A model of one row of the operators' tables."""

    row: Any = None


def _held(held: Input, chance: Random) -> Input:
    """The operand with another shape, another type, or as a constant."""
    roll = chance.random()
    if roll < 0.2:
        return replace(held, dtype=chance.choice(("float32", "float16", "float64", "int32", "int64", "uint8", "bool")))
    shape = chance.choice(SHAPES)
    if roll < 0.4 and held.shape:
        sizes = list(held.shape)
        sizes[chance.randrange(len(sizes))] = chance.choice((0, 1, 2, 3, 7))
        shape = tuple(sizes)
    size = int(np.prod(shape))
    role = held.role if size > SMALL else chance.choice((held.role, "data", "param"))
    top = 100 if held.dtype in ("int8", "uint8") else SMALL
    return replace(held, shape=shape, role=role, values=tuple(n % top for n in range(size)) if size <= SMALL else None)


def _operands(chance: Random, inputs: Sequence[Input]) -> tuple[Input, ...]:
    """The operands with one of another kind, one less, or one more."""
    if not inputs:
        return ()
    slot = chance.randrange(len(inputs))
    roll = chance.random()
    if roll < 0.1:
        return (*inputs[:slot], *inputs[slot + 1 :])
    if roll < 0.2:
        return (*inputs, inputs[slot])
    return (*inputs[:slot], _held(inputs[slot], chance), *inputs[slot + 1 :])


def _some(chance: Random, make: Callable[[], Any]) -> list[Any]:
    one = make()
    return chance.choice(([], [one], [one] * 4, [make() for _ in range(chance.randrange(1, 10))]))


def _stated(chance: Random, kind: str) -> Any:
    """An attribute of a kind as TensorFlow's schema names it."""
    if kind.startswith("list("):
        return tuple(_some(chance, lambda: _stated(chance, kind[5:-1])))
    choices: dict[str, Callable[[], Any]] = {
        "int": lambda: chance.choice((-1, 0, 1, 2, 3, number(chance))) & (2**63 - 1),
        "float": lambda: chance.choice(FLOATS),
        "string": lambda: chance.choice(TEXTS),
        "bool": lambda: chance.random() < 0.5,
        "type": lambda: chance.choice(("float32", "float16", "int32", "int64", "bool", "uint8", "string")),
        "shape": lambda: chance.choice((None, (-1,), *SHAPES)),
    }
    make = choices.get(kind)
    return None if make is None else make()


def _tensorflow_model(row: TensorFlowRow, axes: str) -> Row:
    return Row("m.pb", {"m.pb": row.graph(axes)}, {"outputs": row.outputs}, row)


def _tensorflow_seeds() -> Sequence[Model]:
    from tests.tensorflow.table import CASES

    rows = [row for row in CASES if type(row) is TensorFlowRow]
    return LazySeeds(len(rows), lambda slot: _tensorflow_model(rows[slot], ""))


def _misfit_tensorflow(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    assert isinstance(model, Row)
    from graphir.converters.tensorflow.schema.operators import operator_schema

    row = model.row
    kinds = present(operator_schema(row.op)).kinds
    for _ in range(chance.choice((1, 1, 2))):
        if chance.random() < 0.6 or not kinds:
            row = replace(row, inputs=_operands(chance, row.inputs))
        else:
            name = chance.choice(sorted(kinds))
            value = _stated(chance, kinds[name])
            row = replace(row, attrs={**row.attrs, **({} if value is None else {name: value})})
    try:
        return _tensorflow_model(row, chance.choice(("", "all")))
    except (AssertionError, ArithmeticError, ValueError, TypeError, LookupError):  # what no GraphDef can say
        return model


def _mxnet_seeds() -> Sequence[Model]:
    from tests.equivalence.table import CASES

    return LazySeeds(len(CASES), lambda slot: _mxnet_row(CASES[slot]))


def _mxnet_row(row: MXNetRow) -> Row:
    made = mxnet_model(row)
    return Row(made.entry, made.files, made.options, row)


@cache
def _parameters(op: str) -> tuple[str, ...]:
    from graphir.converters.mxnet.schema.registry import canonical_names, operator_schema

    return tuple(operator_schema(canonical_names().get(op, op)).parameters)


def _misfit_mxnet(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    assert isinstance(model, Row)
    row = model.row
    for _ in range(chance.choice((1, 1, 2))):
        names = sorted({*row.attrs, *_parameters(row.op)})
        if chance.random() < 0.5 or not names:
            row = replace(row, inputs=_operands(chance, row.inputs))
        elif chance.random() < 0.15:
            left_out = chance.choice(names)
            row = replace(row, attrs={name: text for name, text in row.attrs.items() if name != left_out})
        else:
            row = replace(row, attrs={**row.attrs, chance.choice(names): attribute_text(chance)})
    try:
        return _mxnet_row(row) if row.heads <= MANY else model  # whose file would list them all
    except (GraphirError, ArithmeticError, ValueError, TypeError, LookupError):  # what no symbol or .params can say
        return model


@cache
def _node_tests() -> tuple[bytes, ...]:
    """The single nodes of onnx's own tests."""
    import warnings

    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [case.model for case in collect_testcases(None) if "_expanded" not in case.name]
    found = [model.SerializeToString() for model in models if model is not None]
    return tuple(content for content in found if len(content) < 20_000)


def _onnx_seeds() -> Sequence[Model]:
    return [Model("m.onnx", {"m.onnx": content}) for content in _node_tests()]


def _misfit_onnx(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    import onnx

    proto = onnx.ModelProto.FromString(model.files["m.onnx"])
    for _ in range(chance.choice((1, 1, 2))):
        node = chance.choice(proto.graph.node)
        change = chance.choice((_other_input, _other_input, _other_input, _other_attribute, _other_slots))
        change(chance, proto, node)
    for value in proto.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return model.with_file("m.onnx", proto.SerializeToString())


def _other_input(chance: Random, proto: Any, node: Any) -> None:
    """An input of the graph with another type or shape, or a constant in its place."""
    from onnx import helper, numpy_helper

    tensors = [value for value in proto.graph.input if value.type.HasField("tensor_type")]
    if not tensors:
        return
    value = chance.choice(tensors)
    kind = value.type.tensor_type
    if chance.random() < 0.2:
        kind.elem_type = chance.choice((1, 2, 6, 7, 8, 9, 10, 11, 16))
        return
    kind.ClearField("shape")
    shape = chance.choice((None, *SHAPES))
    if shape is None:
        return
    kind.shape.SetInParent()
    for size in shape:
        kind.shape.dim.add().dim_value = size
    if chance.random() < 0.5 and int(np.prod(shape)) <= SMALL and kind.elem_type in (1, 2, 3, 6, 7, 9, 10, 11):
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
        proto.graph.initializer.append(numpy_helper.from_array(array, value.name))
        kept = [other for other in proto.graph.input if other.name != value.name]
        del proto.graph.input[:]
        proto.graph.input.extend(kept)


def _other_attribute(chance: Random, proto: Any, node: Any) -> None:
    from onnx import AttributeProto, helper

    if not node.attribute:
        return
    slot = chance.randrange(len(node.attribute))
    held = copy.deepcopy(node.attribute[slot])
    makers: dict[int, Callable[[], Any]] = {
        AttributeProto.INT: lambda: _int64(number(chance)),
        AttributeProto.INTS: lambda: _some(chance, lambda: _int64(chance.choice((-1, 0, 1, 2, number(chance))))),
        AttributeProto.FLOAT: lambda: chance.choice(FLOATS[:7]),
        AttributeProto.FLOATS: lambda: _some(chance, lambda: chance.choice(FLOATS[:7])),
        AttributeProto.STRING: lambda: chance.choice(TEXTS),
    }
    del node.attribute[slot]
    make = makers.get(held.type)
    if make is not None and chance.random() < 0.8:
        node.attribute.append(helper.make_attribute(held.name, make(), attr_type=held.type))


def _int64(value: int) -> int:
    return max(-(2**63), min(2**63 - 1, value))


def _other_slots(chance: Random, proto: Any, node: Any) -> None:
    """An operand or a result that is absent, one less, or one more."""
    slots = chance.choice((node.input, node.output))
    if not slots:
        return
    roll = chance.random()
    if roll < 0.4:
        slots[chance.randrange(len(slots))] = ""
    elif roll < 0.7:
        del slots[-1:]
    else:
        slots.append(slots[0] if slots is node.input else "more")


OPERATORS = (
    Format("tensorflow_operators", _tensorflow_seeds, _misfit_tensorflow),
    Format("mxnet_operators", _mxnet_seeds, _misfit_mxnet),
    Format("onnx_operators", _onnx_seeds, _misfit_onnx),
)

__all__ = ["OPERATORS"]

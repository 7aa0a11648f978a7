"""What operators say of their attributes when they are made: of their kinds, and each one's own demands."""

from __future__ import annotations

import enum
import subprocess
import sys

import numpy as np
import pytest

from graphir.errors import ArgumentError, GraphError, GraphirError, OperatorError, ShapeError
from graphir.ops import operator_table
from graphir.ops.activation import Approximation, Gelu, LeakyRelu, Relu, Softmax
from graphir.ops.attention import Attention, LinearAttention
from graphir.ops.attributes import ANYTHING, UNFIT, kinds_of, normalised
from graphir.ops.base import Operator, operator
from graphir.ops.bitwise import BitCast
from graphir.ops.blocks import DepthToSpace, SpaceToDepth
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.ops.creation import Fill
from graphir.ops.detection import MultiBoxDetection
from graphir.ops.elementwise import Cast
from graphir.ops.foreign import Foreign
from graphir.ops.image import Col2Im
from graphir.ops.normalization import GroupNormalization
from graphir.ops.pooling import AveragePool, MaxPool, MaxUnpool
from graphir.ops.random import Multinomial
from graphir.ops.recurrent import GRU
from graphir.ops.sequence import Optional
from graphir.ops.shape import Transpose
from graphir.ops.shape_parts import Split
from graphir.padding import Explicit, Same
from graphir.types import DType, TensorType
from tests.ops.late import Late, late, made
from tests.typed import untyped

PADDED = Explicit(((1, 1),))

KINDS = (
    (late(LeakyRelu, alpha="x"), "LeakyRelu: the attribute alpha is str 'x', expected a number"),
    (late(LeakyRelu, alpha=None), "the attribute alpha is None, expected a number"),
    (late(LeakyRelu, alpha=10**400), "the attribute alpha is int, expected a number"),
    (late(LeakyRelu, alpha=True), "the attribute alpha is bool True, expected a number"),
    (late(Softmax, "1"), "Softmax: the attribute axis is str '1', expected an integer"),
    (late(Softmax, 1.0), "the attribute axis is float 1.0, expected an integer; write 1"),
    (late(Softmax, True), "the attribute axis is bool True, expected an integer; write 0 or 1"),
    (late(Softmax, np.float32(1.5)), "the attribute axis is .*expected an integer"),
    (late(MaxPool, 2), "MaxPool: the attribute kernel_shape is int 2, expected a tuple, each entry an int.*; .*2,"),
    (late(MaxPool, (2,), strides=3), "the attribute strides is int 3, expected a tuple, each entry an int.*; .*3,"),
    (late(MaxPool, (2,), strides=("1",)), "the attribute strides is .'1',., expected a tuple"),
    (late(MaxPool, (2,), strides="1"), "the attribute strides is str '1', expected a tuple"),
    (late(MaxPool, (2,), padding=3), "the attribute padding is int 3, expected a padding, Explicit or Same; wri"),
    (late(MaxPool, (2,), ceil_mode=2), "the attribute ceil_mode is int 2, expected True or False"),
    (late(DeformConv, padding=Same()), "the attribute padding is Same, expected an Explicit padding"),
    (late(Gelu, "tanh"), "the attribute approximate is str 'tanh', expected an Appr.*; write Approximation.TANH"),
    (late(Gelu, "sinh"), "expected an Approximation; it has NONE, TANH"),
    (late(Cast, "float32"), "the attribute to is str 'float32', expected a DType; write DType.of.'float32'."),
    (late(Attention, scale="1"), "the attribute scale is str '1', expected a number or None"),
    (late(MultiBoxDetection, variances=(1.0, 2.0)), "expected a tuple of 4 .a number, a number, a number, a number."),
    (late(GRU, 3, activations=("Relu", 1)), "expected a tuple, each entry text"),
    (late(Optional, "float32"), "the attribute type is str 'float32', expected a TensorType or"),
    (late(Fill, 0.0, (2, "N")), "the attribute shape is .2, 'N'., expected a tuple, each entry an int.* or None"),
    (late(Relu, 1), "Relu has 0 attributes, found 1 values"),
    (late(Relu, alpha=1), "Relu has no attribute 'alpha'; it has none"),
    (late(Softmax, 1, axis=1), "Softmax: the attribute axis is given twice"),
    (late(Softmax, axes=1), "Softmax has no attribute 'axes'; it has axis"),
    (late(MaxPool), "MaxPool needs kernel_shape"),
)


@pytest.mark.parametrize(("op", "text"), KINDS, ids=str)
def test_wrong_kinds_are_refused(op: Late, text: str) -> None:
    with pytest.raises(OperatorError, match=text) as found:
        made(op)
    assert isinstance(found.value, GraphirError)
    assert isinstance(found.value, ArgumentError)
    assert isinstance(found.value, ShapeError)


DEMANDS = (
    (late(MaxPool, ()), "kernel_shape is .., expected one entry for each spatial axis"),
    (late(MaxPool, (0,)), "kernel_shape is .0,., expected every entry to be 1 or more"),
    (late(MaxPool, (2, 2), padding=PADDED), "padding is .*expected one pair for each of 2 spatial axes"),
    (late(AveragePool, (2, 2), (1, 0)), "strides is .1, 0., expected every entry to be 1 or more"),
    (late(MaxUnpool, ()), "kernel_shape is .., expected one entry"),
    (late(Conv, dilations=(0, 1)), "dilations is .0, 1., expected every entry to be 1 or more"),
    (late(Conv, strides=(1, 1), padding=PADDED), "padding is .*expected one pair for each of 2 spatial axes"),
    (late(Conv, group=0), "group is 0, expected 1 or more"),
    (late(ConvTranspose, (2, 2), output_padding=(1,)), "output_padding is .1,., expected one entry of 0 or more"),
    (late(ConvTranspose, (2, 2), output_padding=(1, -1)), "output_padding is .1, -1., expected one entry of 0 or more"),
    (late(ConvTranspose, (2, 2), output_shape=(4,)), "output_shape is .4,., expected one entry for each of 2"),
    (late(DeformConv, offset_group=0), "offset_group is 0, expected 1 or more"),
    (late(Col2Im, (1, 1), (1,)), "dilations is .1,., expected one entry for each of 2 spatial axes"),
    (late(LinearAttention, 4, 0), "kv_num_heads is 0, expected 1 or more"),
    (late(BitCast, DType.STRING), "to is string, expected a dtype that is made of bits"),
    (late(GroupNormalization, 0), "num_groups is 0, expected 1 or more"),
    (late(Multinomial, sample_size=-1), "sample_size is -1, expected 0 or more"),
    (late(DepthToSpace, 0), "blocksize is 0, expected 1 or more"),
    (late(SpaceToDepth, -1), "blocksize is -1, expected 1 or more"),
    (late(Split, num_outputs=0), "num_outputs is 0, expected 1 or more"),
    (late(Transpose, (1, 1)), "perm is .1, 1., expected each axis once"),
)


@pytest.mark.parametrize(("op", "text"), DEMANDS, ids=str)
def test_values_that_no_operand_fits_are_refused(op: Late, text: str) -> None:
    with pytest.raises(OperatorError, match=f"^{op.operator.__name__}: the attribute {text}"):
        made(op)


class _Axis(enum.IntEnum):
    LAST = -1


NORMALISED = (
    (late(LeakyRelu, 1), LeakyRelu(1.0)),
    (late(LeakyRelu, np.float64(0.5)), LeakyRelu(0.5)),
    (late(LeakyRelu, np.float32(0.5)), LeakyRelu(0.5)),
    (late(LeakyRelu, np.int64(2)), LeakyRelu(2.0)),
    (late(Softmax, np.int32(1)), Softmax(1)),
    (late(Softmax, np.uint8(1)), Softmax(1)),
    (late(Softmax, _Axis.LAST), Softmax(-1)),
    (late(MaxPool, [np.int64(2), 2], ceil_mode=np.True_), MaxPool((2, 2), ceil_mode=True)),
    (late(MaxPool, (2,), ceil_mode=1), MaxPool((2,), ceil_mode=True)),
    (late(MaxPool, (2,), padding=untyped(Explicit)(((np.int64(1), 0),))), MaxPool((2,), padding=Explicit(((1, 0),)))),
    (late(GRU, 3, activations=[np.str_("Relu")]), GRU(3, activations=("Relu",))),
    (late(Fill, 0, [2, None]), Fill(0.0, (2, None))),
)


@pytest.mark.parametrize(("op", "wanted"), NORMALISED, ids=str)
def test_what_says_the_same_becomes_plain_values(op: Late, wanted: Operator) -> None:
    found = made(op)
    assert repr(found) == repr(wanted)
    assert found == wanted
    assert hash(found) == hash(wanted)


def test_a_foreign_operator_keeps_anything() -> None:
    strange = object()
    assert Foreign("d", "n", (("key", strange),)).attribute_items == (("key", strange),)


PADS = (
    (3, "the pads of Explicit: expected several"),
    ((1, 1), r"pads\[0\] is int 1, expected .before, after."),
    (((1, 1), (1,)), r"pads\[1\] is tuple, expected .before, after."),
    (((1, "1"),), r"pads\[0\] is tuple, expected .before, after., two integers"),
)


@pytest.mark.parametrize(("pads", "text"), PADS, ids=str)
def test_padding_is_pairs_of_integers(pads: object, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        Explicit(pads)  # type: ignore[arg-type]


def test_same_has_a_mode() -> None:
    with pytest.raises(ArgumentError, match="the mode of Same: expected a SameMode, found str 'upper'"):
        Same("upper")  # type: ignore[arg-type]


@pytest.mark.parametrize("cls", operator_table().values(), ids=lambda cls: cls.__name__)
def test_every_default_is_what_its_annotation_says(cls: type[Operator]) -> None:
    kinds = kinds_of(cls, cls.field_names)
    assert tuple(kinds) == cls.field_names or set(kinds) == set(cls.field_names)
    for name, default in cls.field_defaults.items():
        found = normalised(kinds[name], default)
        assert found is not UNFIT
        assert repr(found) == repr(default)


@pytest.mark.parametrize("cls", operator_table().values(), ids=lambda cls: cls.__name__)
def test_only_foreign_operators_have_attributes_of_any_kind(cls: type[Operator]) -> None:
    free = [name for name, kind in kinds_of(cls, cls.field_names).items() if kind is ANYTHING]
    assert not free


def test_types_are_taken_as_they_are() -> None:
    assert Optional(TensorType(DType.FLOAT32, (2,))).type == TensorType(DType.FLOAT32, (2,))
    assert Gelu(Approximation.TANH).approximate is Approximation.TANH


def test_an_operator_without_a_rule_is_none() -> None:
    with pytest.raises(GraphError, match="operator Ruleless states no inference rule"):
        operator(type("Ruleless", (Operator,), {"__doc__": "Has none.", "__annotations__": {}}))


def test_an_operator_without_a_word_is_none() -> None:
    with pytest.raises(GraphError, match="operator Silent has no docstring"):
        operator(type("Silent", (Operator,), {"infer": lambda self: (), "__annotations__": {}}))


def test_operators_are_defined_where_python_drops_docstrings() -> None:
    subprocess.run([sys.executable, "-OO", "-c", "import graphir.ops.activation"], check=True)

"""The table of MXNet's operators: its own rows, and live MXNet beside them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet.files.records import NNVMNode
from graphir.converters.mxnet.schema import operators as schema_module
from graphir.converters.mxnet.schema.operators import canonical_name, node_signature, output_names, typed_attributes
from graphir.converters.mxnet.schema.registry import canonical_names, operator_schema
from graphir.converters.mxnet.schema.values import parse_parameter
from graphir.errors import FormatError
from tests.typed import untyped

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads(Path(schema_module.__file__).with_name("operators.json").read_text())["operators"]
CONV = {"kernel": "(1,1)", "num_filter": "1"}
RNN = {"state_size": "1", "num_layers": "1"}


def node(op: str, inputs: int = 0, **attributes: object) -> NNVMNode:
    attrs = {name: str(value) for name, value in attributes.items()}
    return NNVMNode(op, "n", attrs, inputs=[(slot, 0) for slot in range(inputs)])


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mxnet_schema", ROOT / "tools" / "mxnet_schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def registry(mxnet: ModuleType, generator: ModuleType) -> Any:
    return generator.Registry(mxnet)


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize("operator", sorted(SCHEMA))
def test_schema_is_the_live_registry(registry: Any, generator: ModuleType, operator: str) -> None:
    assert generator.describe(registry, operator) == SCHEMA[operator]


@pytest.mark.live
def test_every_registered_name_is_known(registry: Any) -> None:
    aliases = {alias: owner for alias, owner in registry.aliases().items() if owner in SCHEMA}
    assert {alias: canonical_name(alias) for alias in aliases} == aliases


@pytest.mark.parametrize(
    "name, expected",
    [
        ("Convolution", "Convolution"),
        ("_Plus", "elemwise_add"),
        ("ElementWiseSum", "add_n"),
        ("Softmax", "SoftmaxOutput"),
        ("softmax", "softmax"),
        ("crop", "slice"),
        ("Crop", "Crop"),
        ("_npx_batch_norm", "BatchNorm"),
        ("CuDNNBatchNorm", "BatchNorm"),
        ("__mul_scalar__", "_mul_scalar"),
        ("BinaryConvolution", None),
        ("_backward_Convolution", None),
        ("", None),
    ],
)
def test_canonical_name(name: str, expected: str | None) -> None:
    assert canonical_name(name) == expected


@pytest.mark.one_of(8)
@pytest.mark.parametrize("operator", sorted(set(canonical_names().values())))
def test_every_operator_can_be_read(operator: str) -> None:
    assert operator_schema(operator).name == operator


@pytest.mark.parametrize(
    "op, name, text, expected",
    [
        ("Convolution", "no_bias", "True", True),
        ("Convolution", "num_filter", "4294967295", 4294967295),
        ("softmax", "axis", "2147483647", 2147483647),
        ("softmax", "axis", "-2147483648", -2147483648),
        ("_eye", "N", "9223372036854775807", 9223372036854775807),
        ("Convolution", "no_bias", "1", True),
        ("Convolution", "no_bias", "fAlse", False),
        ("Convolution", "kernel", "(3, 3)", (3, 3)),
        ("Convolution", "kernel", "[3,3]", (3, 3)),
        ("Convolution", "kernel", "(3L, 3L)", (3, 3)),
        ("Convolution", "kernel", "(3,)", (3,)),
        ("Convolution", "kernel", "3", (3,)),
        ("Convolution", "stride", "()", ()),
        ("Convolution", "stride", "[]", ()),
        ("Convolution", "num_filter", " 64 ", 64),
        ("Convolution", "num_filter", "64L", 64),
        ("Convolution", "layout", "None", None),
        ("Convolution", "layout", "NHWC", "NHWC"),
        ("slice", "begin", "(None, 1)", (None, 1)),
        ("slice", "end", "(-1, None)", (-1, None)),
        ("sum", "axis", "None", None),
        ("sum", "axis", "1", (1,)),
        ("sum", "axis", "(0, -1)", (0, -1)),
        ("sum", "axis", "()", ()),
        ("argmax", "axis", "None", None),
        ("argmax", "axis", "-1", -1),
        ("BatchNorm", "eps", "2e-05", 2e-05),
        ("clip", "a_max", "inf", float("inf")),
        ("clip", "a_min", "-inf", float("-inf")),
        ("_contrib_MultiBoxPrior", "sizes", "(0.5, 1)", (0.5, 1.0)),
        ("_contrib_MultiBoxPrior", "sizes", "[0.1,0.2]", (0.1, 0.2)),
        ("_contrib_MultiBoxPrior", "sizes", "0.5", (0.5,)),
        ("Cast", "dtype", "float16", "float16"),
        ("Cast", "dtype", "2", "float16"),
        ("Cast", "dtype", "uint32", "uint32"),
        ("softmax", "dtype", "None", None),
        ("Dropout", "cudnn_off", "None", None),
        ("_npi_pad", "pad_width", "((1, 2), (0, 0))", ((1, 2), (0, 0))),
        ("_foreach", "in_state_locs", "[0, 1]", (0, 1)),
    ],
)
def test_values(op: str, name: str, text: str, expected: object) -> None:
    value = operator_schema(op).parameters[name].parse(text)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    "op, name, text, expected",
    [
        ("Convolution", "kernel", "(a, 3)", "Shape"),
        ("Convolution", "kernel", "", "Shape"),
        ("Convolution", "kernel", "(1.5, 3)", "Shape"),
        ("Convolution", "num_filter", "64.0", "int"),
        ("Convolution", "num_filter", "4294967296", "not between"),
        ("Convolution", "num_filter", "9" * 5000, "int"),
        ("softmax", "axis", "2147483648", "not between"),
        ("softmax", "axis", "-2147483649", "not between"),
        ("_eye", "N", "9223372036854775808", "not between"),
        ("Reshape", "shape", "(9223372036854775808,)", "not between"),
        ("SliceChannel", "num_outputs", "\u0663", "int"),
        ("Convolution", "num_filter", "None", "int"),
        ("Convolution", "no_bias", "yes", "boolean"),
        ("Convolution", "layout", "HWIO", "NCHW"),
        ("Pooling", "pool_type", "0", "avg"),
        ("BatchNorm", "eps", "small", "double"),
        ("BatchNorm", "eps", "1_0", "double"),
        ("Cast", "dtype", "99", "float16"),
    ],
)
def test_bad_values_name_everything(op: str, name: str, text: str, expected: str) -> None:
    bad = node(op, **(untyped(CONV | {"dtype": "float32"} | {name: text})))
    with pytest.raises(FormatError) as caught:
        typed_attributes(bad)
    message = str(caught.value)
    assert [part for part in ("'n'", op, name, repr(text), expected) if part not in message] == []


@pytest.mark.parametrize(
    "op, name, expected",
    [
        ("FullyConnected", "flatten", True),
        ("BatchNorm", "fix_gamma", True),
        ("BatchNorm", "momentum", 0.9),
        ("BatchNorm", "axis", 1),
        ("LayerNorm", "eps", 1e-05),
        ("LRN", "knorm", 2.0),
        ("LRN", "alpha", 0.0001),
        ("Pooling", "pool_type", "max"),
        ("Pooling", "pooling_convention", "valid"),
        ("Pooling", "count_include_pad", None),
        ("Deconvolution", "no_bias", True),
        ("Convolution", "dilate", ()),
        ("_contrib_MultiBoxTarget", "variances", (0.1, 0.1, 0.2, 0.2)),
        ("sum", "axis", None),
        ("topk", "axis", -1),
        ("Embedding", "dtype", "float32"),
        ("_zeros", "ctx", ""),
    ],
)
def test_defaults(op: str, name: str, expected: object) -> None:
    assert operator_schema(op).parameters[name].default == expected


def test_attributes_tell_stated_from_default_and_unknown() -> None:
    attributes = typed_attributes(node("Convolution", 3, **CONV, no_bias="False", colour="red"))
    assert attributes["num_filter"] == 1
    assert attributes.stated == {"kernel", "num_filter", "no_bias"}
    assert attributes.unknown == {"colour": "red"}
    assert "colour" not in attributes


def test_same_text_gives_the_same_object() -> None:
    assert typed_attributes(node("Convolution", 3, **CONV)) is typed_attributes(node("Convolution", 3, **CONV))


def test_unknown_parameter_is_a_key_error_that_lists_the_known() -> None:
    with pytest.raises(KeyError, match="num_filter"):
        typed_attributes(node("Convolution", 3, **CONV))["kernel_size"]


def test_missing_required_parameter() -> None:
    with pytest.raises(FormatError, match=r"'n' \(Convolution\): attribute kernel is missing, expected Shape"):
        typed_attributes(node("Convolution", num_filter=1))


def test_number_of_inputs_is_counted_where_it_is_not_stated() -> None:
    assert typed_attributes(node("Concat", 3))["num_args"] == 3


def test_unknown_operator_keeps_its_text() -> None:
    attributes = typed_attributes(node("QConvolution", 2, act_bit=1))
    assert (dict(attributes), attributes.unknown) == ({}, {"act_bit": "1"})


@pytest.mark.parametrize("text", ["Shape(tuple)", "quaternion, required", ""])
def test_a_type_that_the_registry_never_uses(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        parse_parameter("name", text)


SIGNATURES = [
    ("Convolution", CONV, "data weight bias", "", "output"),
    ("Convolution", {**CONV, "no_bias": "True"}, "data weight", "", "output"),
    ("Deconvolution", CONV, "data weight", "", "output"),
    ("Deconvolution", {**CONV, "no_bias": "0"}, "data weight bias", "", "output"),
    ("FullyConnected", {"num_hidden": "1", "no_bias": "1"}, "data weight", "", "output"),
    ("_contrib_DeformableConvolution", CONV, "data offset weight bias", "", "output"),
    ("_contrib_ModulatedDeformableConvolution", {**CONV, "no_bias": "1"}, "data offset mask weight", "", "output"),
    (
        "_contrib_quantized_conv",
        {**CONV, "no_bias": "1"},
        "data weight min_data max_data min_weight max_weight",
        "",
        "output min_output max_output",
    ),
    ("LeakyReLU", {"act_type": "leaky"}, "data", "", "output"),
    ("LeakyReLU", {"act_type": "prelu"}, "data gamma", "", "output"),
    ("LeakyReLU", {"act_type": "rrelu"}, "data", "", "output mask"),
    ("RNN", {**RNN, "mode": "gru"}, "data parameters state", "", "output"),
    ("RNN", {**RNN, "mode": "lstm"}, "data parameters state state_cell", "", "output"),
    (
        "RNN",
        {**RNN, "mode": "lstm", "use_sequence_length": "1", "state_outputs": "1"},
        "data parameters state state_cell sequence_length",
        "",
        "output state_output statecell_output",
    ),
    ("RNN", {**RNN, "mode": "gru", "state_outputs": "1"}, "data parameters state", "", "output state_output"),
    ("SequenceMask", {}, "data", "", "output"),
    ("SequenceMask", {"use_sequence_length": "True"}, "data sequence_length", "", "output"),
    ("SequenceLast", {"use_sequence_length": "True"}, "data sequence_length", "", "output"),
    ("SequenceReverse", {"use_sequence_length": "True"}, "data sequence_length", "", "output"),
    ("CTCLoss", {}, "data label", "", "output0"),
    ("CTCLoss", {"use_label_lengths": "1"}, "data label label_lengths", "", "output0"),
    ("SoftmaxOutput", {}, "data label", "", "output"),
    ("BatchNorm", {}, "data gamma beta moving_mean moving_var", "moving_mean moving_var", "output"),
    (
        "BatchNorm",
        {"output_mean_var": "1"},
        "data gamma beta moving_mean moving_var",
        "moving_mean moving_var",
        "output mean var",
    ),
    ("LayerNorm", {"output_mean_var": "1"}, "data gamma beta", "", "output mean std"),
    ("GroupNorm", {}, "data gamma beta", "", "output"),
    ("InstanceNorm", {}, "data gamma beta", "", "output"),
    ("IdentityAttachKLSparseReg", {}, "data moving_avg", "moving_avg", "output"),
    ("topk", {"ret_typ": "both"}, "data", "", "output0 output1"),
    ("topk", {"ret_typ": "value"}, "data", "", "output0"),
    ("topk", {"ret_typ": "indices"}, "data", "", "output"),
    ("sort", {}, "data", "", "output0"),
    ("SliceChannel", {"num_outputs": "1"}, "data", "", "output0"),
    ("SliceChannel", {"num_outputs": "3"}, "data", "", "output0 output1 output2"),
    ("_split_v2", {"indices": "(0, 2, 3)"}, "data", "", "output0 output1 output2"),
    ("_split_v2", {"indices": "()", "sections": "4"}, "data", "", "output0 output1 output2 output3"),
    ("_split_v2", {"indices": "()", "sections": "1"}, "data", "", "output"),
    ("Concat", {"num_args": "2"}, "arg0 arg1", "", "output"),
    ("add_n", {"num_args": "1"}, "arg0", "", "output"),
    ("stack", {"num_args": "4"}, "arg0 arg1 arg2 arg3", "", "output"),
    ("UpSampling", {"scale": "2", "sample_type": "nearest", "num_args": "2"}, "arg0 arg1", "", "output"),
    ("UpSampling", {"scale": "2", "sample_type": "bilinear", "num_args": "1"}, "data weight", "", "output"),
    ("Crop", {"num_args": "2"}, "arg0 arg1", "", "output"),
    ("softmax", {"use_length": "True"}, "data length", "", "output"),
    ("_contrib_BilinearResize2D", {"mode": "like"}, "data like", "", "output"),
    ("_contrib_Proposal", {}, "cls_prob bbox_pred im_info", "", "output"),
    ("_contrib_Proposal", {"output_score": "1"}, "cls_prob bbox_pred im_info", "", "output score"),
    ("_contrib_MultiProposal", {"output_score": "1"}, "cls_prob bbox_pred im_info", "", "output score"),
    ("_contrib_box_nms", {}, "data", "", "output0"),
    ("_contrib_MultiBoxTarget", {}, "anchor label cls_pred", "", "loc_target loc_mask cls_target"),
    (
        "_contrib_quantized_concat",
        {"num_args": "2"},
        "arg0 arg1 arg0_min arg0_max arg1_min arg1_max",
        "",
        "output min_output max_output",
    ),
    ("amp_multicast", {"num_outputs": "2"}, "data_0 data_1", "", "output0 output1"),
    ("_sample_multinomial", {"get_prob": "1"}, "data", "", "output0 output1"),
    ("moments", {}, "data", "", "output0 output1"),
    ("Dropout", {}, "data", "", "output"),
    ("_npi_average", {"returned": "1"}, "a weights", "", "output0 output1"),
    ("_npi_unique", {"return_index": "1"}, "data", "", "output0 output1"),
    ("_np_atleast_1d", {"num_args": "2"}, "ary0 ary1", "", "output0 output1"),
    ("make_loss", {}, "data", "", "loss"),
]


@pytest.mark.parametrize("op, attributes, inputs, aux, outputs", SIGNATURES)
def test_signature(op: str, attributes: dict[str, str], inputs: str, aux: str, outputs: str) -> None:
    found = node_signature(node(op, len(inputs.split()), **attributes))
    assert found.inputs == tuple(inputs.split())
    assert found.aux == tuple(aux.split())
    assert found.outputs[: found.visible] == tuple(outputs.split())


@pytest.mark.live
@pytest.mark.parametrize("op, attributes, inputs, aux, outputs", SIGNATURES)
def test_signature_is_that_of_live_mxnet(
    registry: Any, op: str, attributes: dict[str, str], inputs: str, aux: str, outputs: str
) -> None:
    symbol = registry.compose(op, attributes)
    document = json.loads(symbol.tojson())
    counts = document["node_row_ptr"]
    assert [entry["name"] for entry in document["nodes"][:-1]] == [f"n_{name}" for name in inputs.split()]
    assert symbol.list_auxiliary_states() == [f"n_{name}" for name in aux.split()]
    composed = node(op, len(inputs.split()), **attributes)
    assert symbol.list_outputs() == output_names(composed)
    assert counts[-1] - counts[-2] == len(node_signature(composed).outputs)


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize("operator", sorted(name for name, entry in SCHEMA.items() if not entry.get("uncertain")))
def test_minimal_signature_is_that_of_live_mxnet(registry: Any, generator: ModuleType, operator: str) -> None:
    attributes = generator.minimal_attributes(registry, operator)
    symbol = registry.compose(operator, attributes)
    composed = node(operator, 0, **attributes)
    names = [entry["name"] for entry in json.loads(symbol.tojson())["nodes"][:-1]]
    assert output_names(composed) == symbol.list_outputs()
    assert [f"n_{name}" for name in node_signature(composed).inputs][: len(names)] == names


@pytest.mark.parametrize("op, inputs", [("Custom", 3), ("QConvolution", 2)])
def test_inputs_without_names_are_numbered(op: str, inputs: int) -> None:
    assert node_signature(node(op, inputs)).inputs == tuple(f"arg{slot}" for slot in range(inputs))


def test_output_name_of_a_variable_is_its_own() -> None:
    assert output_names(NNVMNode("null", "data")) == ["data"]

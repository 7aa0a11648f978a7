"""Names of an operator's inputs and outputs, where its attributes decide which of them there are.

Checked against live MXNet: `list_arguments`, `list_auxiliary_states` and `list_outputs` of composed symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from graphir.converters.mxnet.schema.registry import OperatorSchema, canonical_names, operator_schema
from graphir.safety.limits import check_count
from graphir.structure.record import record

Attributes = Mapping[str, object]
# The names of all inputs, and those of them that are auxiliary states, from the attributes and the number of operands.
Counted = Callable[[Attributes, int], tuple[tuple[str, ...], tuple[str, ...]]]
Outputs = Callable[[Attributes], tuple[tuple[str, ...], int]]

STATES = ("gamma", "beta", "mean", "var")
ENDS = ("min", "max")


def _fused_convolution(attributes: Attributes, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    normalized = STATES if attributes.get("with_bn") else ()
    addend = ("sum",) if attributes.get("with_sum") else ()
    ranged = ("data", *addend) if attributes.get("quantized") else ()
    ranges = tuple(f"{name}_{end}" for name in ranged for end in ENDS)
    others = (*normalized, *addend, *ranges)
    bias = ("bias",) if count > 2 + len(others) else ()
    return ("data", "weight", *bias, *others), STATES[2:] if normalized else ()


def _fused_fully_connected(attributes: Attributes, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    layer = ("data", "weight", "bias")
    if not attributes.get("quantized"):
        return layer if count > 2 else layer[:2], ()
    if attributes.get("channel_wise_quantize"):
        operands = layer if count > 4 else layer[:2]
        return (*operands, "min_data", "max_data"), ()
    operands = layer if count > 6 else layer[:2]
    return (*operands, *(f"{end}_{name}" for name in operands for end in ENDS)), ()


def _with_ends(names: tuple[str, ...], *ends: str) -> Counted:
    """Return the operands, with the ends of their ranges where they are quantized."""
    return lambda attributes, count: ((*names, *(ends if attributes.get("quantized") else ())), ())


def _with_range(ends: tuple[str, str], always: bool = False) -> Outputs:
    def outputs(attributes: Attributes) -> tuple[tuple[str, ...], int]:
        ranged = (always or bool(attributes.get("quantized"))) and not attributes.get("enable_float_output")
        names = ("output", *ends) if ranged else ("output",)
        return names, len(names)

    return outputs


COUNTED: Mapping[str, Counted] = {
    "_sg_mkldnn_conv": _fused_convolution,
    "_sg_mkldnn_fully_connected": _fused_fully_connected,
    "_sg_mkldnn_selfatt_qk": _with_ends(("queries_keys_values",), "min_qkv", "max_qkv"),
    "_sg_mkldnn_selfatt_valatt": _with_ends(
        ("queries_keys_values", "attention"), "min_qkv", "max_qkv", "min_attention", "max_attention"
    ),
    "_sg_onednn_batch_dot": _with_ends(("lhs", "rhs"), "lhs_min", "lhs_max", "rhs_min", "rhs_max"),
}
FUSED_OUTPUTS: Mapping[str, Outputs] = {
    "_contrib_quantized_elemwise_mul": _with_range(("min_output", "max_output"), always=True),
    "_sg_mkldnn_conv": _with_range(("output_min", "output_max")),
    "_sg_mkldnn_fully_connected": _with_range(("min_output", "max_output")),
    "_sg_mkldnn_selfatt_qk": _with_range(("min_output", "max_output")),
    "_sg_mkldnn_selfatt_valatt": _with_range(("min_output", "max_output")),
    "_sg_onednn_batch_dot": _with_range(("min_output", "max_output")),
}


T = TypeVar("T")


@record
class OperatorSignature:
    """Inputs in order (auxiliary states among them, named again in `aux`) and all outputs, the visible ones first.

    `takes` is how many inputs the operator has, None where MXNet does not say.
    """

    inputs: tuple[str, ...]
    aux: tuple[str, ...]
    outputs: tuple[str, ...]
    visible: int
    takes: int | None = None

    def states(self, inputs: Iterable[T]) -> list[T]:
        """Return those of a node's inputs that the operator holds as auxiliary states (BatchNorm its moving mean)."""
        return [entry for name, entry in zip(self.inputs, inputs, strict=False) if name in self.aux]


_Attributes = Mapping[str, object]
_InputRule = Callable[[tuple[str, ...], _Attributes], tuple[str, ...]]
_OutputRule = Callable[[_Attributes], tuple[tuple[str, ...], int]]


def signature(operator: str, attributes: Mapping[str, object], num_inputs: int) -> OperatorSignature:
    """Return the signature of an operator with typed attributes.

    `num_inputs` is the number of inputs that the node has; it decides for operators that do not say (`Custom`, unknown
    ones, and the positions past the last name: `arg3`). Inputs that are missing are named too.
    """
    if operator not in canonical_names():
        return OperatorSignature(_positional(num_inputs), (), ("output",), 1)
    schema = operator_schema(operator)
    counted = COUNTED.get(operator)
    inputs, aux = (_input_names(schema, attributes), schema.aux) if counted is None else counted(attributes, num_inputs)
    takes = len(inputs) if inputs and (counted or not schema.uncertain) else None
    if len(inputs) < num_inputs:
        inputs += _positional(num_inputs, len(inputs))
    rule = _OUTPUT_RULES.get(operator)
    if rule is None:
        hidden = tuple(f"output{slot}" for slot in range(len(schema.outputs), len(schema.outputs) + schema.hidden))
        return OperatorSignature(inputs, aux, schema.outputs + hidden, len(schema.outputs), takes)
    outputs, visible = rule(attributes)
    return OperatorSignature(inputs, aux, outputs, visible, takes)


def has_input_rule(operator: str) -> bool:
    """Return whether the inputs of the operator follow from its attributes by a rule of their own."""
    return operator in _INPUT_RULES


def _positional(count: int, start: int = 0) -> tuple[str, ...]:
    return tuple(f"arg{slot}" for slot in range(start, count))


def _input_names(schema: OperatorSchema, attributes: _Attributes) -> tuple[str, ...]:
    rule = _INPUT_RULES.get(schema.name)
    if rule is not None:
        return rule(schema.inputs, attributes)
    count = attributes.get(schema.variadic) if schema.variadic else None
    if isinstance(count, int) and schema.inputs and schema.inputs[0].endswith("0"):
        stem = schema.inputs[0][:-1]
        return tuple(f"{stem}{slot}" for slot in range(_count(count)))
    return schema.inputs


def _bias_unless_no_bias(names: tuple[str, ...], attributes: _Attributes) -> tuple[str, ...]:
    if attributes.get("no_bias"):
        return tuple(name for name in names if not name.endswith("bias"))
    return names if "bias" in names else (*names, "bias")


def _recurrent_inputs(names: tuple[str, ...], attributes: _Attributes) -> tuple[str, ...]:
    inputs = ["data", "parameters", "state"]
    if attributes.get("mode") == "lstm":
        inputs.append("state_cell")
    if attributes.get("use_sequence_length"):
        inputs.append("sequence_length")
    return tuple(inputs)


def _when(flag: str, name: str) -> _InputRule:
    """`name` is an input too when the attribute `flag` is true."""
    return lambda names, attributes: (*names, name) if attributes.get(flag) else names


def _unless(flag: str, name: str) -> _InputRule:
    """`name` is no input when the attribute `flag` is true."""
    return lambda names, attributes: tuple(each for each in names if each != name or not attributes.get(flag))


def _many(stem: str, attribute: str) -> _InputRule:
    """Return as many inputs as an attribute states."""
    return lambda names, attributes: tuple(f"{stem}{slot}" for slot in range(_count(attributes.get(attribute))))


def _counted_inputs(count: Callable[[_Attributes], int]) -> _InputRule:
    """Return as many inputs, which have numbers for names, as the attributes tell."""
    return lambda names, attributes: tuple(f"input{slot}" for slot in range(1, count(attributes) + 1))


def _intgemm_inputs(names: tuple[str, ...], attributes: _Attributes) -> tuple[str, ...]:
    scaling = () if attributes.get("out_type", "float32") == "int32" else ("scaling",)
    return ("data", "weight", *scaling, *(() if attributes.get("no_bias") else ("bias",)))


def _ctc_inputs(names: tuple[str, ...], attributes: _Attributes) -> tuple[str, ...]:
    lengths = [name for name in ("data_lengths", "label_lengths") if attributes.get(f"use_{name}")]
    return ("data", "label", *lengths)


def _upsampling_inputs(names: tuple[str, ...], attributes: _Attributes) -> tuple[str, ...]:
    if attributes.get("sample_type") == "bilinear":
        return ("data", "weight")
    return _positional(_count(attributes.get("num_args")))


def _quantized_concat_inputs(names: tuple[str, ...], attributes: _Attributes) -> tuple[str, ...]:
    data = _positional(_count(attributes.get("num_args")))
    return data + tuple(f"{name}_{end}" for name in data for end in ("min", "max"))


def _sampler(*parameters: str) -> _InputRule:
    """Return one input in place of each parameter that is None."""
    return _counted_inputs(lambda attributes: sum(attributes.get(parameter) is None for parameter in parameters))


def _delete_inputs(names: tuple[str, ...], attributes: _Attributes) -> tuple[str, ...]:
    """Return what is deleted is an input, unless it is a number or a slice, which has a step."""
    stated = attributes.get("int_ind") is not None or attributes.get("step") is not None
    return ("arr",) if stated else ("arr", "obj")


def _count(value: object) -> int:
    """Return how many results or operands an attribute asks for. Raises FormatError for more than a file can mean."""
    count = value if isinstance(value, int) else 0
    check_count(count, f"an attribute asks for {count} results or operands")
    return count


_INPUT_RULES: Mapping[str, _InputRule] = {
    **dict.fromkeys(
        (
            "Convolution",
            "Convolution_v1",
            "Deconvolution",
            "FullyConnected",
            "_contrib_DeformableConvolution",
            "_contrib_ModulatedDeformableConvolution",
            "_contrib_quantized_conv",
            "_contrib_quantized_fully_connected",
        ),
        _bias_unless_no_bias,
    ),
    **dict.fromkeys(
        ("SequenceLast", "SequenceMask", "SequenceReverse"), _when("use_sequence_length", "sequence_length")
    ),
    # Positions, which the attributes `*_locs` state; they have no names.
    **dict.fromkeys(("_cond", "_foreach", "_while_loop"), lambda names, attributes: ()),
    **dict.fromkeys(("_npi_uniform", "_npi_uniform_n"), _sampler("low", "high")),
    **dict.fromkeys(
        ("_npi_gumbel", "_npi_laplace", "_npi_logistic", "_npi_normal", "_npi_normal_n"), _sampler("loc", "scale")
    ),
    **dict.fromkeys(("_npi_exponential", "_npi_rayleigh"), _sampler("scale")),
    **dict.fromkeys(("_npi_pareto", "_npi_powerd", "_npi_weibull"), _sampler("a")),
    "_npi_bernoulli": _counted_inputs(lambda attributes: attributes.get("prob") is attributes.get("logit") is None),
    # The values are an input, unless they are one number.
    **dict.fromkeys(
        ("_npi_insert_scalar", "_npi_insert_slice", "_npi_insert_tensor"),
        lambda names, attributes: tuple(name for name in names if name != "values" or attributes.get("val") is None),
    ),
    "_npi_choice": _counted_inputs(
        lambda attributes: (attributes.get("a") is None) + bool(attributes.get("weighted"))
    ),
    "_npi_delete": _delete_inputs,
    "_npi_gamma": _sampler("shape", "scale"),
    "_npi_multinomial": lambda names, attributes: ("data",) if attributes.get("pvals") in (None, "None") else (),
    "CTCLoss": _ctc_inputs,
    "_contrib_intgemm_fully_connected": _intgemm_inputs,
    "_contrib_intgemm_prepare_weight": _unless("already_quantized", "maxabs"),
    "LeakyReLU": lambda names, attributes: ("data", "gamma") if attributes.get("act_type") == "prelu" else ("data",),
    "RNN": _recurrent_inputs,
    "UpSampling": _upsampling_inputs,
    "_contrib_BilinearResize2D": lambda names, attributes: ("data", "like")[: 1 + (attributes.get("mode") == "like")],
    "_contrib_DeformablePSROIPooling": _unless("no_trans", "trans"),
    "_contrib_quantized_concat": _quantized_concat_inputs,
    "_histogram": lambda names, attributes: ("data", "bins") if attributes.get("bin_cnt") is None else ("data",),
    "_npi_average": lambda names, attributes: ("a", "weights") if attributes.get("weighted", True) else ("a",),
    "_npi_ediff1d": _counted_inputs(
        lambda attributes: 1 + sum(bool(attributes.get(f"{name}_arr_given")) for name in ("to_begin", "to_end"))
    ),
    "_npi_bincount": _when("has_weights", "weights"),
    "_npi_percentile": lambda names, attributes: ("a", "q") if attributes.get("q_scalar") is None else ("a",),
    "amp_multicast": _many("data_", "num_outputs"),
    "multi_all_finite": _many("array_", "num_arrays"),
    "multi_sum_sq": _many("array_", "num_arrays"),
    "softmax": _when("use_length", "length"),
}


def _normalized(*names: str) -> _OutputRule:
    """The statistics are outputs too; they are visible with `output_mean_var`."""
    return lambda attributes: (names, 3 if attributes.get("output_mean_var") else 1)


def _numbered(count: int, visible: int | None = None) -> tuple[tuple[str, ...], int]:
    """Outputs of an operator that names none: `output` if it has one in all, else `output0`, `output1`, ..."""
    names = ("output",) if count == 1 else tuple(f"output{slot}" for slot in range(count))
    return names, count if visible is None else visible


def _counted(attribute: str) -> _OutputRule:
    return lambda attributes: _numbered(_count(attributes.get(attribute)))


def _slice_channel_outputs(attributes: _Attributes) -> tuple[tuple[str, ...], int]:
    count = _count(attributes.get("num_outputs"))
    return tuple(f"output{slot}" for slot in range(count)), count


def _split_outputs(attributes: _Attributes) -> tuple[tuple[str, ...], int]:
    """`sections` equal parts if it is positive; else one part starts at each entry of `indices`, the first at 0."""
    sections = _count(attributes.get("sections"))
    indices = attributes.get("indices")
    return _numbered(sections if sections > 0 else len(indices) if isinstance(indices, tuple) else 0)


def _recurrent_outputs(attributes: _Attributes) -> tuple[tuple[str, ...], int]:
    if not attributes.get("state_outputs"):
        return ("output",), 1
    if attributes.get("mode") == "lstm":
        return ("output", "state_output", "statecell_output"), 3
    return ("output", "state_output"), 2


def _top_outputs(attributes: _Attributes) -> tuple[tuple[str, ...], int]:
    """`value` computes the indices too and hides them."""
    wanted = attributes.get("ret_typ")
    return _numbered(2, 2 if wanted == "both" else 1) if wanted in ("both", "value") else _numbered(1)


_OUTPUT_RULES: Mapping[str, _OutputRule] = {
    **FUSED_OUTPUTS,
    **dict.fromkeys(("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm"), _normalized("output", "mean", "var")),
    **dict.fromkeys(("GroupNorm", "LayerNorm"), _normalized("output", "mean", "std")),
    **dict.fromkeys(
        ("_contrib_MultiProposal", "_contrib_Proposal"),
        lambda attributes: (("output", "score"), 2 if attributes.get("output_score") else 1),
    ),
    **dict.fromkeys(("_cond", "_foreach", "_while_loop", "amp_multicast"), _counted("num_outputs")),
    **dict.fromkeys(("_np_atleast_1d", "_np_atleast_2d", "_np_atleast_3d"), _counted("num_args")),
    **dict.fromkeys(("_npi_dsplit", "_npi_hsplit", "_split_v2"), _split_outputs),
    "LeakyReLU": lambda attributes: (("output", "mask"), 2) if attributes.get("act_type") == "rrelu" else _numbered(1),
    # Max pooling has a workspace in builds with oneDNN, which all published ones are.
    "Pooling": lambda attributes: (("output", "workspace")[: 1 + (attributes.get("pool_type") == "max")], 1),
    "RNN": _recurrent_outputs,
    "SliceChannel": _slice_channel_outputs,
    "_contrib_BatchNormWithReLU": _normalized("output", "mean", "var", "mask"),
    "_npi_average": lambda attributes: _numbered(2, 2 if attributes.get("returned") else 1),
    "_npi_unique": lambda attributes: _numbered(
        1 + sum(bool(attributes.get(flag)) for flag in ("return_index", "return_inverse", "return_counts"))
    ),
    **dict.fromkeys(
        ("_sample_categorical", "_sample_multinomial"),
        lambda attributes: _numbered(2 if attributes.get("get_prob") else 1),
    ),
    "topk": _top_outputs,
}

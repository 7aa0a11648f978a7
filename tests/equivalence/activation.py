"""Cases of the activation family."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data, param, values

LARGE = data(2, 3, 4, kind="scale:300")

CASES: tuple[Case, ...] = (
    *(
        case("Activation", kind, data(2, 3, 4, kind="scale:3"), act_type=kind)
        for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")
    ),
    case("Activation", "softrelu_far_out", values(-200.0, -5.0, 0.0, 5.0, 200.0), act_type="softrelu"),
    case("Activation", "relu_float16", data(2, 3, dtype="float16"), act_type="relu"),
    case("Activation", "sigmoid_float64", data(2, 3, dtype="float64"), act_type="sigmoid"),
    case("LeakyReLU", "default", data(2, 3, 4)),
    case("LeakyReLU", "leaky", data(2, 3, 4), act_type="leaky", slope=0.1),
    case("LeakyReLU", "elu", data(2, 3, 4), act_type="elu", slope=1.3),
    case("LeakyReLU", "selu", data(2, 3, 4), act_type="selu"),
    case("LeakyReLU", "gelu", data(2, 3, 4), act_type="gelu"),
    case("LeakyReLU", "gelu_float16", data(2, 3, dtype="float16"), act_type="gelu", tolerance=3e-3),
    case("LeakyReLU", "rrelu", data(2, 3, 4), act_type="rrelu", lower_bound=0.2, upper_bound=0.6),
    case("LeakyReLU", "prelu_4d", data(2, 3, 4, 5), param("gamma", 3), act_type="prelu", slope=0.25),
    case("LeakyReLU", "prelu_2d", data(4, 3), param("gamma", 3), act_type="prelu"),
    case("LeakyReLU", "prelu_shared", data(2, 3, 4, 5), param("gamma", 1), act_type="prelu"),
    *(case("softmax", f"axis_{axis}", data(2, 3, 4), axis=axis) for axis in (0, 1, 2, -1, -2)),
    case("softmax", "default", data(2, 3, 4)),
    case("softmax", "temperature", data(2, 3, 4), axis=1, temperature=2.5),
    case("softmax", "large_logits", LARGE, axis=1),
    case("softmax", "float16_to_float32", data(2, 5, dtype="float16"), dtype="float32", tolerance=3e-3),
    case("softmax", "float64", data(2, 5, dtype="float64")),
    case(
        "softmax", "lengths_last", data(3, 5), values(1, 3, 5, name="length", dtype="int32"), axis=1, use_length=True
    ),
    case(
        "softmax", "lengths_middle", data(2, 4, 3),
        values(1, 2, 3, 4, 4, 2, shape=(2, 3), name="length", dtype="int32"), axis=1, use_length=True,
    ),
    case("log_softmax", "default", data(2, 3, 4)),
    case("log_softmax", "axis_1", data(2, 3, 4), axis=1),
    case("log_softmax", "temperature", data(2, 3, 4), temperature=0.5),
    case("log_softmax", "large_logits", LARGE, axis=1),
    case("softmin", "default", data(2, 3, 4)),
    case("softmin", "axis_temperature", data(2, 3, 4), axis=1, temperature=3.0),
    case("SoftmaxActivation", "instance_2d", data(3, 5)),
    case("SoftmaxActivation", "instance_4d", data(2, 3, 2, 2)),
    case("SoftmaxActivation", "channel", data(2, 3, 4, 5), mode="channel"),
    case("SoftmaxActivation", "instance_3d", data(2, 3, 4)),
    case("SoftmaxActivation", "channel_3d", data(2, 3, 5), mode="channel"),
    *(case(op, "int32", data(3, 4, dtype="int32")) for op in ("relu", "sigmoid", "softsign", "tanh")),
    case("relu", "int8", data(3, 4, dtype="int8")),
    case("relu", "float64", data(3, 4, dtype="float64")),
    case("hard_sigmoid", "float16", data(3, 4, dtype="float16", kind="scale:3"), alpha=0.3),
    case("hard_sigmoid", "float64", data(3, 4, dtype="float64", kind="scale:3"), alpha=0.25),
    case("Activation", "softrelu_float16", data(2, 3, dtype="float16"), act_type="softrelu"),
    case("Activation", "softsign_float64", data(2, 3, dtype="float64"), act_type="softsign"),
    case("Activation", "tanh_1d", data(7), act_type="tanh"),
    case("LeakyReLU", "prelu_1d", data(5), param("gamma", 5), act_type="prelu"),
    case("LeakyReLU", "prelu_3d", data(2, 3, 4), param("gamma", 3), act_type="prelu"),
    case("LeakyReLU", "prelu_5d", data(2, 3, 2, 2, 3), param("gamma", 3), act_type="prelu"),
    case("LeakyReLU", "prelu_one_channel", data(2, 1, 4), param("gamma", 1), act_type="prelu"),
    case("LeakyReLU", "prelu_float16", data(2, 3, 4, dtype="float16"), param("gamma", 3, dtype="float16"),
         act_type="prelu"),
    case("LeakyReLU", "prelu_float64", data(2, 3, 4, dtype="float64"), param("gamma", 3, dtype="float64"),
         act_type="prelu", tolerance=1e-7),
    case("LeakyReLU", "leaky_float64", data(2, 3, dtype="float64"), slope=0.375, tolerance=1e-7),
    case("LeakyReLU", "leaky_negative_slope", data(2, 3), slope=-0.5),
    case("LeakyReLU", "elu_float16", data(2, 3, dtype="float16"), act_type="elu"),
    case("LeakyReLU", "selu_float64", data(2, 3, dtype="float64"), act_type="selu", tolerance=1e-7),
    case("LeakyReLU", "gelu_float64", data(2, 3, dtype="float64"), act_type="gelu", tolerance=1e-7),
    case("LeakyReLU", "rrelu_default", data(2, 3, 4), act_type="rrelu"),
    case("softmax", "float16", data(2, 5, dtype="float16")),
    case("softmax", "float16_to_float64", data(2, 5, dtype="float16"), dtype="float64", tolerance=3e-3),
    case("softmax", "float64_to_float32", data(2, 5, dtype="float64"), dtype="float32", temperature=2.0),
    case("softmax", "float32_to_float16", data(2, 5), dtype="float16"),
    case("softmax", "1d", data(7)),
    case("softmax", "length_zero", data(3, 5), values(0, 3, 5, name="length", dtype="int64"), axis=-1,
         use_length=True),
    case("softmax", "lengths_first", data(4, 3), values(2, 4, 1, name="length", dtype="int32"), axis=0,
         use_length=True, temperature=0.7),
    case("softmax", "lengths_4d", data(2, 3, 2, 2),
         values(1, 2, 3, 3, 2, 1, 3, 2, shape=(2, 2, 2), name="length", dtype="int32"), axis=1, use_length=True),
    case("softmax", "lengths_float16", data(2, 4, dtype="float16"), values(1, 3, name="length", dtype="int32"),
         use_length=True),
    case("log_softmax", "float16_to_float32", data(2, 5, dtype="float16"), dtype="float32", axis=0, tolerance=3e-3),
    case("log_softmax", "float64", data(2, 5, dtype="float64")),
    case("softmin", "float16", data(2, 5, dtype="float16")),
    case("softmin", "to_float64", data(2, 5), dtype="float64", tolerance=1e-6),
    case("Dropout", "always_not_training", data(2, 3), p=0.0, mode="always"),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("softmax", "axis", data(2, 3), axis=2),
    case("LeakyReLU", "gamma_size", data(2, 3, 4), param("gamma", 4), act_type="prelu"),
    case("Activation", "act_type", data(2, 3), act_type="swish"),
)

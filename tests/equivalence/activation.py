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
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("softmax", "axis", data(2, 3), axis=2),
    case("LeakyReLU", "gamma_size", data(2, 3, 4), param("gamma", 4), act_type="prelu"),
    case("Activation", "act_type", data(2, 3), act_type="swish"),
)

"""What MXNet's own exporter was probed with: one row a model that it got right, got wrong, or refused.

`build` makes the symbol with the `mx` that it is given; `inputs` are the shapes of what is fed, everything else that
the symbol names gets seeded weights. `scale` multiplies the inputs, `whole` makes them integers in a range. `onednn`
marks what MXNet's CPU build computes through oneDNN only, `sized` what needs the input's sizes as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Shapes = Mapping[str, tuple[int, ...]]
IMAGE: Shapes = {"data": (2, 3, 4, 4)}


@dataclass(frozen=True)
class Probe:
    """One model."""

    name: str
    build: Callable[[Any], Any]
    inputs: Shapes = field(default_factory=lambda: IMAGE)
    scale: float = 1.0
    whole: tuple[int, int] | None = None
    dtype: str = "float32"
    onednn: bool = False
    sized: bool = False

    def arrays(self, symbol: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is fed, and seeded parameters, labels left out."""
        random = np.random.default_rng(7)
        feeds = {name: self._input(random, name, shape) for name, shape in self.inputs.items()}
        arguments, _, states = symbol.infer_shape(**{name: tuple(shape) for name, shape in self.inputs.items()})
        named = zip(
            symbol.list_arguments() + symbol.list_auxiliary_states(), list(arguments) + list(states), strict=True
        )
        params = {}
        for name, shape in named:
            if name in feeds or name.endswith("label"):
                continue
            values = random.normal(size=shape) * 0.5
            params[name] = (np.abs(values) + 0.5 if name.endswith("var") else values).astype(self.dtype)
        return feeds, params

    def _input(self, random: np.random.Generator, name: str, shape: tuple[int, ...]) -> Any:
        if self.whole is not None and name != "weight":
            return random.integers(*self.whole, size=shape).astype(self.dtype)
        return (random.normal(size=shape) * self.scale).astype(self.dtype)


def recurrent(mode: str, layers: int, **extra: Any) -> Callable[[Any], Any]:
    """An RNN of hidden size 6 whose begin states are inputs."""

    def build(mx: Any) -> Any:
        states = {"state_cell": mx.sym.Variable("cell")} if mode == "lstm" else {}
        made = mx.sym.RNN(
            mx.sym.Variable("data"), mode=mode, num_layers=layers, state_size=6, state=mx.sym.Variable("state"),
            name="rnn", **{"state_outputs": True, **extra}, **states,
        )  # fmt: skip
        return made

    return build


def states(layers: int, directions: int = 1, cell: bool = False) -> Shapes:
    """Inputs of an RNN: 5 steps, 2 samples, 4 features."""
    begin = (layers * directions, 2, 6)
    return {"data": (5, 2, 4), "state": begin} | ({"cell": begin} if cell else {})


def shift(mx: Any) -> Any:
    """A symbol whose auto-name MXNet's exporter reads the operator from."""
    return 3.0 - mx.sym.Variable("data")


def custom_shift(mx: Any) -> Any:
    return mx.sym._internal._RMinusScalar(mx.sym.Variable("data"), scalar=3.0, name="mine")


def custom_quotient(mx: Any) -> Any:
    return mx.sym._internal._RDivScalar(mx.sym.Variable("data"), scalar=3.0, name="mine")


def dense_softmax(mx: Any) -> Any:
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc"), name="softmax")


def chosen_where_positive(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    return mx.sym.where(data > 0.2, data, mx.sym.Variable("other"))


def of_data(op: str, **attributes: Any) -> Callable[[Any], Any]:
    """One operator on `data`; a dot in the name leads into a namespace."""

    def build(mx: Any) -> Any:
        function = mx.sym
        for part in op.split("."):
            function = getattr(function, part)
        return function(mx.sym.Variable("data"), name="op", **attributes)

    return build


def of_two(op: str, **attributes: Any) -> Callable[[Any], Any]:
    """One operator on `data` and `other`."""
    return lambda mx: getattr(mx.sym, op)(mx.sym.Variable("data"), mx.sym.Variable("other"), name="op", **attributes)


def gathered(mx: Any) -> Any:
    return mx.sym.take(mx.sym.Variable("weight"), mx.sym.Variable("data"), mode="clip", name="op")


def second_slice(mx: Any) -> Any:
    return mx.sym.SliceChannel(mx.sym.Variable("data"), num_outputs=3, axis=1, name="op")[1]


def stacked(mx: Any) -> Any:
    return mx.sym.stack(mx.sym.Variable("data"), mx.sym.Variable("other"), axis=1, name="op")


def two_upsampled(mx: Any) -> Any:
    return mx.sym.UpSampling(
        mx.sym.Variable("data"), mx.sym.Variable("other"), scale=2, sample_type="nearest", num_args=2, name="op"
    )


ROW: Shapes = {"data": (2, 3)}
CUBE: Shapes = {"data": (2, 3, 4)}
LINE: Shapes = {"data": (2, 3, 9)}
TWO_ROWS: Shapes = {"data": (2, 3), "other": (2, 3)}
POOL = {"kernel": (3, 3), "stride": (2, 2)}
PICTURE: Shapes = {"data": (1, 3, 8, 8)}

PROBES = (
    Probe("BatchNorm fix_gamma=True gamma!=1", of_data("BatchNorm", fix_gamma=True)),
    Probe("BatchNorm fix_gamma=False", of_data("BatchNorm", fix_gamma=False)),
    Probe("FullyConnected default flatten, 3D in", of_data("FullyConnected", num_hidden=5), CUBE),
    Probe("_rminus_scalar custom name", custom_shift, ROW),
    Probe("_rminus_scalar auto name", shift, ROW),
    Probe("_rdiv_scalar custom name", custom_quotient, ROW),
    Probe("PReLU per-channel NCHW", of_data("LeakyReLU", act_type="prelu")),
    Probe("LeakyReLU rrelu", lambda mx: of_data("LeakyReLU", act_type="rrelu")(mx)[0]),
    Probe("softmax axis=1 large logits (overflow)", of_data("softmax", axis=1), CUBE, scale=1e4),
    Probe("log_softmax large logits (overflow)", of_data("log_softmax"), ROW, scale=1e4),
    Probe("SoftmaxOutput multi_output 4D", of_data("SoftmaxOutput", multi_output=True)),
    Probe("sum exclude=True", of_data("sum", axis=1, exclude=True), CUBE),
    Probe("mean exclude=True", of_data("mean", axis=(1,), exclude=True), CUBE),
    Probe("sum() over all (shape (1,))", of_data("sum"), CUBE),
    Probe("broadcast_to with 0 dim", of_data("broadcast_to", shape=(0, 3, 4)), {"data": (2, 1, 4)}),
    Probe("Conv1D layout=NCW", of_data("Convolution", kernel=(3,), num_filter=4, layout="NCW"), LINE),
    Probe("Pool1D layout=NCW", of_data("Pooling", kernel=(3,), pool_type="max", layout="NCW"), LINE),
    Probe("AvgPool full", of_data("Pooling", pool_type="avg", pooling_convention="full", **POOL), PICTURE),
    Probe(
        "AvgPool full pad1",
        of_data("Pooling", pool_type="avg", pooling_convention="full", pad=(1, 1), **POOL),
        PICTURE,
    ),
    Probe("SumPool", of_data("Pooling", pool_type="sum", pad=(1, 1), **POOL), PICTURE),
    Probe("Reshape -2", of_data("Reshape", shape=(0, -2)), CUBE),
    Probe("Reshape -3,-2", of_data("Reshape", shape=(-3, -2)), IMAGE),
    Probe("Reshape -4 split", of_data("Reshape", shape=(-4, 1, 2, -2)), CUBE),
    Probe("slice step -1", of_data("slice", begin=(None, None), end=(None, None), step=(1, -1)), CUBE),
    Probe("reverse axis tuple", of_data("reverse", axis=(1,)), CUBE),
    Probe("UpSampling nearest", of_data("UpSampling", scale=2, sample_type="nearest")),
    Probe(
        "BilinearResize2D align_corners=False",
        of_data("contrib.BilinearResize2D", height=6, width=6, align_corners=False),
    ),
    Probe("BilinearResize2D default", of_data("contrib.BilinearResize2D", height=6, width=7)),
    Probe(
        "BilinearResize2D odd_scale",
        of_data("contrib.BilinearResize2D", scale_height=2.0, scale_width=2.0, mode="odd_scale"),
        sized=True,
    ),
    Probe(
        "AdaptiveAvgPooling2D (2,2)", of_data("contrib.AdaptiveAvgPooling2D", output_size=(2, 2)), PICTURE, sized=True
    ),
    Probe("L2Normalization instance (default)", of_data("L2Normalization")),
    Probe("L2Normalization channel", of_data("L2Normalization", mode="channel")),
    Probe("LayerNorm", of_data("LayerNorm"), CUBE),
    Probe("dot 3D x 3D", of_two("dot"), {"data": (2, 3, 4), "other": (4, 5, 2)}),
    Probe("topk mask", of_data("topk", k=2, ret_typ="mask", axis=-1), CUBE),
    Probe("take clip", gathered, {"weight": (6, 3), "data": (2, 4)}, whole=(-3, 9)),
    Probe("InstanceNorm", of_data("InstanceNorm")),
    Probe("SwapAxis", of_data("SwapAxis", dim1=0, dim2=2), CUBE),
    Probe("Crop center", of_data("Crop", h_w=(3, 3), center_crop=True, num_args=1), PICTURE),
    Probe(
        "Embedding (negative/overflow idx)",
        of_data("Embedding", input_dim=6, output_dim=3),
        {"data": (2, 4)},
        whole=(-3, 9),
    ),
    Probe("LSTM 2-layer input!=state", recurrent("lstm", 2), states(2, cell=True), onednn=True),
    Probe("LSTM 1-layer", recurrent("lstm", 1), states(1, cell=True), onednn=True),
    Probe("GRU bidirectional", recurrent("gru", 1, bidirectional=True), states(1, 2), onednn=True),
    Probe("norm L1", of_data("norm", ord=1, axis=1), CUBE),
    Probe("SequenceReverse 2D", of_data("SequenceReverse"), ROW),
    Probe("broadcast_maximum", of_two("broadcast_maximum"), {"data": (2, 3), "other": (1, 3)}),
    Probe("erf", of_data("erf"), ROW),
    Probe("SoftmaxActivation", of_data("SoftmaxActivation", mode="channel")),
    Probe("_not_equal_scalar", lambda mx: mx.sym.Variable("data") != 2.0, ROW, whole=(0, 4)),
    Probe("LinearRegressionOutput", of_data("LinearRegressionOutput"), ROW),
    Probe("MultiBoxPrior", of_data("contrib.MultiBoxPrior", sizes=(0.5, 0.25), ratios=(1, 2, 0.5)), sized=True),
    Probe("SoftmaxOutput 2D plain", of_data("SoftmaxOutput"), ROW),
    Probe("FC+SoftmaxOutput 2D plain", dense_softmax, ROW),
    Probe("SoftmaxOutput preserve_shape 3D", of_data("SoftmaxOutput", preserve_shape=True), CUBE),
    Probe("LogisticRegressionOutput", of_data("LogisticRegressionOutput"), ROW),
    Probe("where/_greater_scalar", chosen_where_positive, TWO_ROWS),
    Probe("Deconvolution plain", of_data("Deconvolution", kernel=(3, 3), stride=(2, 2), num_filter=4)),
    Probe("GELU fp32", of_data("LeakyReLU", act_type="gelu"), ROW),
    Probe("GELU fp16", of_data("LeakyReLU", act_type="gelu"), ROW, dtype="float16"),
    Probe("Reshape reverse", of_data("Reshape", shape=(-1, 0), reverse=True), CUBE),
    Probe("UpSampling num_args=2", two_upsampled, {"data": (1, 2, 4, 4), "other": (1, 3, 2, 2)}),
    Probe(
        "box_nms per-class",
        of_data("contrib.box_nms", overlap_thresh=0.4, coord_start=2, score_index=1, id_index=0, force_suppress=False),
        {"data": (2, 7, 6)},
    ),
    Probe("softsign", of_data("softsign"), ROW),
    Probe("argmax", of_data("argmax", axis=1), CUBE),
    Probe("stack", stacked, TWO_ROWS),
    Probe("batch_dot tb", of_two("batch_dot", transpose_b=True), {"data": (2, 3, 4), "other": (2, 5, 4)}),
    Probe("SliceChannel out[1]", second_slice),
    Probe("Cast f64", of_data("Cast", dtype="float64"), ROW),
    Probe("broadcast_mod", of_two("broadcast_mod"), {"data": (2, 3), "other": (2, 1)}),
    Probe(
        "Pad reflect", of_data("Pad", mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 2, 1)), PICTURE
    ),
    Probe("LRN default knorm", of_data("LRN", nsize=5), {"data": (1, 8, 4, 4)}),
    Probe("GRU state_outputs=False", recurrent("gru", 1, state_outputs=False), states(1), onednn=True),
    Probe("GRU 3 layers", recurrent("gru", 3), states(3), onednn=True),
)

__all__ = ["PROBES", "Probe"]

"""Inference over symbols against live MXNet: whole networks, parts of what there is to know, and contradictions.

The judge of partial answers is the truth (the shapes that a case's inputs really have): nothing that graphir says may
differ from it, and what MXNet says of it graphir has to say too. Where MXNet's own partial answer is wrong (it
counts an unknown size as 0 in Concat, Pad and the like) only the first half is asked.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.symbol_types import infer_symbol
from graphir.errors import GraphirError, UnsupportedOpError
from tests.equivalence.case import Case
from tests.equivalence.table import CASES
from tests.models import symbols, zoo

Shapes = dict[str, tuple[int, ...]]

TABLE = import_table()
# The elements decide the size of the result: MXNet infers nothing.
DATA_DECIDES = {"_contrib_boolean_mask", "_npi_delete", "_npi_unique", "_npx_nonzero"}
# MXNet infers nothing, or of parts of the shapes others for the operands than those that it runs.
OTHERWISE = {
    *("_npi_column_stack", "_npi_concatenate", "_npi_dstack", "_npi_hstack"),
    *("_npi_insert_scalar", "_npi_insert_slice", "_npi_insert_tensor"),
}
# The import of a projected LSTM divides its weights, which inference alone does not have.
ROWS = [
    row
    for row in CASES
    if row.op in TABLE and row.op not in DATA_DECIDES | OTHERWISE
    and not row.np_shape and row.inputs and "projection_size" not in row.attrs
    and all(source.shape and 0 not in source.shape for source in row.inputs)
]  # fmt: skip
# Each draws other parts of what there is to know.
SEEDS = range(4 if os.environ.get("GRAPHIR_ALL_SEEDS") else 1)

QUANTIZED = (
    *("_contrib_quantized_act", "_contrib_quantized_batch_norm", "_contrib_quantized_conv"),
    *("_contrib_quantized_embedding", "_contrib_quantized_flatten", "_contrib_quantized_fully_connected"),
    *("_contrib_quantized_pooling", "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected", "_sg_mkldnn_selfatt_qk"),
    "_sg_mkldnn_selfatt_valatt",
)
GUESSED = dict.fromkeys(
    ("LeakyReLU-prelu_in_a_matrix", "LeakyReLU-prelu_one_of_two_axes"),
    "slopes of which nothing is stated are taken to have one axis, in MXNet too; these have two",
)
MXNET_KNOWS_MORE = {
    "Crop": "the size of a crop like another tensor does not depend on the data's own",
    "Reshape": "codes that join axes are written as -1, whose size an unknown axis hides",
    "_contrib_div_sqrt_dim-int32_integers": "integers are divided by a number that the import must know",
    "pick-vector": "the import needs the rank of the data",
    "_identity_with_attr_like_rhs": "the right side is not in the graph",
    "RNN": "the import divides the parameters by the number of features, which it must know",
    "GridGenerator": "the import needs the rank of the data, MXNet knows that of the result without it",
    "diag": "the import needs the rank of the data, MXNet takes it for a vector",
    "scatter_nd": "the import needs the rank of the indices",
    "_contrib_interleaved_matmul_encdec_valatt": "the import needs the rank of both operands",
    "CTCLoss": "the import needs the numbers of steps, labels and classes",
    "_linalg_makediag": "the import makes a table of places, whose number it must know",
    "_linalg_sumlogdiag": "the import makes a table of places, whose number it must know",
    "_np_diag": "the import makes a table of places, whose number it must know",
    "_np_diagflat": "the import makes a table of places, whose number it must know",
    "_np_diagonal": "the import makes a table of places, whose number it must know",
    "_slice_assign": "what is assigned has the size of the part, which the import must know",
    "_npi_where": "MXNet takes the shape of the operands that are known for that of the result",
    **dict.fromkeys(
        ("_npi_vstack",), "the import needs the rank of the operands"
    ),
    **dict.fromkeys(
        ("_cvimresize", "_image_normalize", "_image_resize"),
        "the import makes tables of weights for each row, column and channel, whose numbers it must know",
    ),
    **dict.fromkeys(
        ("_contrib_MultiProposal", "_contrib_Proposal"), "the import makes anchors, whose number it must know"
    ),
    **dict.fromkeys(QUANTIZED, "the import composes it of several operators and needs the ranks"),
}


def drawn(case: Case, seed: int) -> Shapes:
    """Some of the inputs' shapes, some of their sizes 0, which is MXNet's unknown."""
    generator = np.random.Generator(np.random.PCG64([seed, len(case.name), *case.name.encode()]))
    return {
        case.variable(source): tuple(0 if generator.random() < 0.2 else size for size in source.shape)
        for source in case.inputs
        if source.role != "aux" and generator.random() < 0.65
    }


def changed(case: Case, seed: int) -> Shapes:
    """The true shapes with one size of one input changed."""
    generator = np.random.Generator(np.random.PCG64([seed, len(case.name), *case.name.encode()]))
    shapes = {case.variable(source): list(source.shape) for source in case.inputs if source.role != "aux"}
    shape = shapes[list(shapes)[generator.integers(len(shapes))]]
    shape[generator.integers(len(shape))] += 1
    return {name: tuple(sizes) for name, sizes in shapes.items()}


def dtypes(case: Case) -> dict[str, str]:
    return {case.variable(source): source.dtype for source in case.inputs}


def flat(answer: tuple[list[Any], list[Any], list[Any]]) -> list[tuple[int, ...] | None]:
    """Arguments, outputs and auxiliary states in one list."""
    return [None if shape is None else tuple(shape) for part in answer for shape in part]


def wrong(found: list[Any], truth: list[Any]) -> list[tuple[Any, Any]]:
    """Where a known part is not the true one."""
    return [
        (shape, true)
        for shape, true in zip(found, truth, strict=True)
        if shape
        and (len(shape) != len(true) or any(size not in (0, real) for size, real in zip(shape, true, strict=True)))
    ]


def lacking(found: list[Any], answered: list[Any]) -> list[tuple[Any, Any]]:
    """Where MXNet knows more."""
    return [
        (shape, other)
        for shape, other in zip(found, answered, strict=True)
        if other and (not shape or any(size == 0 != real for size, real in zip(shape, other, strict=True)))
    ]


def attempted(call: Any) -> Any:
    """The answer, or the error."""
    try:
        return call()
    except Exception as error:
        return error


@pytest.mark.live
@pytest.mark.one_of(8, by="row.op")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_parts_of_what_there_is_to_know(mxnet: ModuleType, row: Case, seed: int) -> None:
    symbol = mxnet.sym.load_json(row.symbol_json())
    truth = flat(symbol.infer_shape(**{name: shape for name, shape in row.shapes().items() if shape} | _weights(row)))
    given = drawn(row, seed)
    answered = attempted(lambda: flat(symbol.infer_shape_partial(**given)))
    knows_more = MXNET_KNOWS_MORE.keys() & {row.op, row.name}
    inferred = attempted(lambda: infer_symbol(row.symbol_json(), given, dtypes(row)))
    if knows_more and isinstance(inferred, UnsupportedOpError):
        return
    assert not isinstance(inferred, Exception), inferred
    found = flat(inferred.shapes())
    defaults = [] if isinstance(answered, Exception) else wrong(answered, truth)  # of a label, a slope: others do too
    if row.name not in GUESSED:
        assert [pair for pair in wrong(found, truth) if pair not in defaults] == []
    if isinstance(answered, Exception) or wrong(answered, truth) or knows_more:
        return
    assert lacking(found, answered) == []


def _weights(row: Case) -> Shapes:
    return {row.variable(source): source.shape for source in row.inputs if source.role == "param"}


# MXNet refuses these when it infers, graphir's import composes them of operators that would run.
REFUSED_BY_MXNET_ONLY = frozenset(
    {
        *("_contrib_box_iou", "_contrib_box_decode", "_contrib_box_nms", "batch_take", "softmax_cross_entropy"),
        *("_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt"),
        *QUANTIZED,  # the numbers of a range, and of what is not read
        *("LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"),
    }
)


@pytest.mark.live
@pytest.mark.one_of(8, by="row.op")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_contradictions_are_refused_too(mxnet: ModuleType, row: Case, seed: int) -> None:
    """What MXNet refuses is refused. (The other way round MXNet is lax: it overwrites what is given of parameters.)"""
    given = changed(row, seed)
    symbol = mxnet.sym.load_json(row.symbol_json())
    if isinstance(attempted(lambda: symbol.infer_shape(**given)), Exception) and row.op not in REFUSED_BY_MXNET_ONLY:
        assert isinstance(attempted(lambda: infer_symbol(row.symbol_json(), given, dtypes(row))), GraphirError)


def grown(shape: tuple[int, ...], batch: int, more: int) -> tuple[int, ...]:
    """Another batch, and larger pictures."""
    return (shape[0] + batch, *shape[1:2], *(size + more for size in shape[2:]))


def checked(symbol: Any, given: Shapes) -> None:
    """Arguments, outputs and auxiliary states as MXNet infers them, or refused as MXNet refuses."""
    expected = attempted(lambda: flat(symbol.infer_shape_partial(**given)))
    if isinstance(expected, Exception):
        with pytest.raises(GraphirError):
            infer_symbol(symbol, given)
        return
    assert flat(infer_symbol(symbol, given).shapes()) == expected


SIZES = [(0, 0), (1, 0), (2, 32)]


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize(("batch", "more"), SIZES)
@pytest.mark.parametrize("name", symbols.CLASSICS)
def test_classics(mxnet: ModuleType, name: str, batch: int, more: int) -> None:
    classic = symbols.CLASSICS[name]
    pictures = all(len(shape) == 4 for shape in classic.data.values())
    given = {key: grown(shape, batch, more if pictures else 0) for key, shape in classic.data.items()}
    checked(classic.symbol(mxnet), given)


ZOO = [
    *(f"resnet{depth}_v{version}" for depth in (18, 34, 50, 101, 152) for version in (1, 2)),
    *(f"vgg{depth}{norm}" for depth in (11, 13, 16, 19) for norm in ("", "_bn")),
    *(f"densenet{depth}" for depth in (121, 161, 169, 201)),
    *(f"mobilenet{kind}{width}" for kind in ("", "v2_") for width in ("1.0", "0.75", "0.5", "0.25")),
    *("alexnet", "inceptionv3", "squeezenet1.0", "squeezenet1.1"),
]


@pytest.mark.live
def test_the_whole_zoo(mxnet: ModuleType) -> None:
    assert sorted(ZOO) == sorted(zoo.zoo_names(mxnet))


@pytest.mark.live
@pytest.mark.one_of(8, by="name")
@pytest.mark.parametrize(("batch", "more"), SIZES)
@pytest.mark.parametrize("name", ZOO)
def test_gluon_zoo(mxnet: ModuleType, name: str, batch: int, more: int) -> None:
    side = zoo.default_size(name)
    network = mxnet.gluon.model_zoo.vision.get_model(name)
    checked(network(mxnet.sym.Variable("data")), {"data": grown((1, 3, side, side), batch, more)})


def withheld(shapes: Shapes, seed: int) -> Shapes:
    """Some of the shapes, some of their sizes 0."""
    generator = np.random.Generator(np.random.PCG64([seed, len(shapes)]))
    share = (0.1, 0.4, 0.8)[seed % 3]
    return {
        name: tuple(0 if generator.random() < 0.15 else size for size in shape)
        for name, shape in shapes.items()
        if generator.random() < share and shape and 0 not in shape
    }


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", symbols.CLASSICS)
def test_parts_of_networks(mxnet: ModuleType, name: str, seed: int) -> None:
    """Any of a network's arguments withheld: nothing wrong is said, and no less than MXNet says."""
    classic = symbols.CLASSICS[name]
    symbol = classic.symbol(mxnet)
    truth = symbol.infer_shape_partial(**classic.data)
    given = withheld(dict(zip(symbol.list_arguments(), truth[0], strict=True)), seed)
    found = flat(infer_symbol(symbol, given).shapes())
    known = [(shape, true) for shape, true in zip(found, flat(truth), strict=True) if true and 0 not in true]
    assert wrong([shape for shape, _ in known], [true for _, true in known]) == []
    answered = attempted(lambda: flat(symbol.infer_shape_partial(**given)))
    if not isinstance(answered, Exception):
        right = [
            (shape, other) for shape, other, true in zip(found, answered, flat(truth), strict=True)
            if true and 0 not in true and not wrong([other], [true])
        ]  # fmt: skip
        assert lacking([shape for shape, _ in right], [other for _, other in right]) == []


NUMPY_SHAPES = [
    # shapes under numpy's semantics, in which -1 is unknown and 0 a size
    {"x": (-1, 7)}, {"x": (0, 7)}, {"x": (-1, 2, 7)}, {}, {"fc_weight": (3, 7)}, {"x": (4, 2, 3)}, {"fc_bias": (3,)},
]  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("given", NUMPY_SHAPES, ids=str)
def test_numpy_shapes(mxnet: ModuleType, given: Shapes) -> None:
    symbol = mxnet.sym.FullyConnected(mxnet.sym.Variable("x"), num_hidden=3, name="fc")
    with mxnet.util.np_shape(True):
        answered = flat(symbol.infer_shape_partial(**given))
    found = flat(infer_symbol(symbol, given, np_shape=True).shapes(np_shape=True))
    assert [
        (shape, other)
        for shape, other in zip(found, answered, strict=True)
        if other is not None
        and (shape is None or any(real not in (-1, size) for size, real in zip(shape, other, strict=True)))
    ] == []


def of_types(sym: Any) -> dict[str, Any]:
    """Symbols whose dtypes MXNet infers both ways."""
    x, y = sym.Variable("x"), sym.Variable("y")
    dense = sym.FullyConnected(x, num_hidden=3, name="fc")
    return {
        "dense": dense,
        "scaled": sym.broadcast_add(x * 2, dense),
        "normed": sym.BatchNorm(sym.Convolution(x, num_filter=2, kernel=(1, 1), name="conv"), name="bn"),
        "cast": sym.elemwise_add(sym.cast(x, dtype="float16"), y),
        "words": sym.FullyConnected(sym.Embedding(x, input_dim=9, output_dim=4, name="embed"), num_hidden=2, name="fc"),
        "softmax": sym.SoftmaxOutput(dense, name="softmax"),
        "joined": sym.Concat(x, y, dim=1),
        "annotated": sym.FullyConnected(sym.Variable("x", dtype="float64"), num_hidden=2, name="fc"),
    }


TYPES = [
    ("dense", {"fc_weight": "float16"}), ("dense", {"x": "float64"}), ("dense", {"fc_bias": "float16"}),
    ("scaled", {"fc_weight": "float16"}), ("scaled", {"x": "float16"}), ("normed", {"x": "float16"}),
    ("normed", {"x": "float64"}), ("cast", {"x": "float32"}), ("cast", {"x": "float32", "y": "float16"}),
    ("words", {"x": "int32"}), ("softmax", {"x": "float16"}), ("joined", {"y": "float16"}), ("joined", {"x": "int32"}),
    ("annotated", {}),
]  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize(("name", "given"), TYPES)
def test_dtypes(mxnet: ModuleType, name: str, given: dict[str, str]) -> None:
    symbol = of_types(mxnet.sym)[name]
    expected = [None if dtype is None else np.dtype(dtype).name for part in symbol.infer_type_partial(**given)
                for dtype in part]  # fmt: skip
    found = [None if dtype is None else dtype.value for part in infer_symbol(symbol, None, given).dtypes()
             for dtype in part]  # fmt: skip
    assert [pair for pair in zip(found, expected, strict=True) if pair[1] not in (None, pair[0])] == []


@pytest.mark.live
@pytest.mark.parametrize(("name", "given"), [
    ("dense", {"x": "float32", "fc_weight": "float16"}), ("cast", {"x": "float32", "y": "float32"}),
    ("joined", {"x": "float32", "y": "float16"}), ("annotated", {"x": "float32", "fc_weight": "float16"}),
])  # fmt: skip
def test_dtypes_that_contradict(mxnet: ModuleType, name: str, given: dict[str, str]) -> None:
    symbol = of_types(mxnet.sym)[name]
    assert isinstance(attempted(lambda: symbol.infer_type(**given)), Exception)
    with pytest.raises(GraphirError):
        infer_symbol(symbol, None, given)

"""Every operator of the IR has a rule, and a case in which the rule's answer is what a runtime computes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphir.converters.onnx import from_model
from graphir.inference import infer_types
from graphir.ops import operator_table

from .judge import verdict
from .models import Case, bare, run_whole, suite, with_constants
from .tools import with_sizes

# How large a result is depends on the elements of an operand that is not a small constant.
DATA_DEPENDENT = frozenset({"ImageDecoder", "NonMaxSuppression", "StringSplit"})
# Operators that ONNX lacks: the types of these cases are held against live MXNet's.
WITHOUT_ONNX = {
    "Correlation": ("tests/equivalence/image.py", "Correlation"),
    "BoxNMS": ("tests/equivalence/detection.py", "_contrib_box_nms"),
    "MultiBoxDetection": ("tests/equivalence/detection.py", "_contrib_MultiBoxDetection"),
    "Fill": ("tests/passes/test_fills.py", "Fill("),
    "Cholesky": ("tests/equivalence/rare/factorization.py", "_linalg_potrf"),
    "Inverse": ("tests/equivalence/rare/factorization.py", "_linalg_inverse"),
    "LQ": ("tests/equivalence/rare/factorization.py", "_linalg_gelqf"),
    "SVD": ("tests/equivalence/rare/factorization.py", "_npi_svd"),
    "SignLogDet": ("tests/equivalence/rare/factorization.py", "_linalg_slogdet"),
    "Solve": ("tests/equivalence/rare/factorization.py", "_npi_solve"),
    "SymmetricEigen": ("tests/equivalence/rare/factorization.py", "_linalg_syevd"),
    "ErfInv": ("tests/equivalence/rare/special_functions.py", "erfinv"),
    "Gamma": ("tests/equivalence/rare/special_functions.py", "gamma"),
    "LogGamma": ("tests/equivalence/rare/special_functions.py", "gammaln"),
    "TriangularSolve": ("tests/equivalence/rare/factorization.py", "_linalg_trsm"),
}
# What the suite has only in a form in which shapes depend on data, or as a sequence, whose types no runtime tells.
TEXTS = {
    "GlobalLpPool": "(float[2,3,4,5] x) => (y) { y = GlobalLpPool (x) }",
    "MaxRoiPool": "(float[1,3,8,8] x, float[4,5] r) => (y) { y = MaxRoiPool <pooled_shape = [2, 3]> (x, r) }",
    "Multinomial": "(float[2,3] x) => (y) { y = Multinomial <sample_size = 4, dtype = 6> (x) }",
    "NonZero": "() => (y) { c = Constant <value = int64[2,2] {1,0,3,4}> ()  y = NonZero (c) }",
    "OneHot": "(int64[2] i, float[2] v) => (y) { d = Constant <value_int = 5> ()  y = OneHot <axis = 0> (i, d, v) }",
    "RandomNormal": "() => (y) { y = RandomNormal <shape = [2, 3], dtype = 11> () }",
    "RandomNormalLike": "(float[2,3] x) => (y) { y = RandomNormalLike (x) }",
    "RandomUniform": "() => (y) { y = RandomUniform <shape = [2, 3]> () }",
    "RandomUniformLike": "(float[2,3] x) => (y) { y = RandomUniformLike <dtype = 11> (x) }",
    "Unique": "() => (y, i, r, c) { d = Constant <value_ints = [3, 1, 3]> ()  y, i, r, c = Unique (d) }",
    "ConcatFromSequence": """(float[2,3] a, float[2,3] b) => (y) {
        s = SequenceConstruct (a, b)  y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }""",
    "SequenceConstruct": """(float[2,3] a, float[2,3] b) => (y) {
        s = SequenceConstruct (a, b)  n = Constant <value_int = 1> ()  y = SequenceAt (s, n) }""",
    "SequenceEmpty": """(float[2,3] a) => (y) {
        e = SequenceEmpty ()  s = SequenceInsert (e, a)  n = Constant <value_int = 0> ()  y = SequenceAt (s, n) }""",
    "SequenceInsert": """(float[2,3] a, float[2,3] b) => (y) {
        c = SequenceConstruct (a)  n = Constant <value_int = 0> ()  s = SequenceInsert (c, b, n)
        y = SequenceAt (s, n) }""",
    "SequenceErase": """(float[2,3] a, float[2,3] b) => (y) {
        c = SequenceConstruct (a, b)  n = Constant <value_int = 0> ()  s = SequenceErase (c, n)
        y = SequenceAt (s, n) }""",
    "SplitToSequence": """(float[6,3] a) => (y) {
        p = Constant <value_int = 2> ()  n = Constant <value_int = 0> ()  s = SplitToSequence (a, p)
        y = SequenceAt (s, n) }""",
    "Optional": "(float[2,3] a) => (y) { o = Optional (a)  y = OptionalGetElement (o) }",
    "SequenceMap": """(float[2,3] a, float[2,3] b) => (y) {
        c = SequenceConstruct (a, b)  n = Constant <value_int = 0> ()
        s = SequenceMap <body = add_one (float[2,3] x) => (float[6] z) {
            f = Constant <value_ints = [-1]> ()  z = Reshape (x, f) }> (c)
        y = SequenceAt (s, n) }""",
}


def written(text: str) -> Case:
    """A case from a graph as text, fed with zeros."""
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 21]> agraph {untyped(text)}')
    feeds = {}
    for info in model.graph.input:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        feeds[info.name] = np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
    model = bare(model)
    return Case("text", text, model, feeds, run_whole(model, feeds))


def untyped(text: str) -> str:
    """The text with a type for the outputs, which the parser demands."""
    head, _, rest = text.partition("=> (")
    outputs, _, body = rest.partition(")")
    return f"{head}=> ({', '.join(f'float[] {name.strip()}' for name in outputs.split(','))}){body}"


def proven(case: Case) -> Iterator[str]:
    """The operators of a case of which graphir says the true types."""
    graph = from_model(case.model.SerializeToString())
    types = infer_types(graph)
    for node in graph.nodes:
        name = node.op.name
        wanted = ("known", "partial") if name in DATA_DEPENDENT else ("known",)
        found = [(with_sizes(types[value.name], {}), case.truth.get(value.name)) for value in node.outputs]
        judged = [verdict(type_, true) for type_, true in found if true is not None and type_ is not None]
        if judged and all(text in wanted for text in judged):
            yield name


@pytest.fixture(scope="module")
def of_suite() -> set[str]:
    return {name for case in suite() for name in proven(with_constants(case))}


@pytest.mark.parametrize("name", TEXTS)
def test_says_what_is_computed(name: str) -> None:
    case = written(TEXTS[name])
    graph = from_model(case.model.SerializeToString())
    types = {key: str(type_) for key, type_ in infer_types(graph).items() if key in case.truth}
    assert name in {node.op.name for node in graph.nodes}
    assert types == {key: str(true) for key, true in case.truth.items() if key in types}
    assert types


@pytest.mark.slow
def test_every_operator_is_held_against_a_runtime(of_suite: set[str]) -> None:
    unproven = set(operator_table()) - of_suite - set(TEXTS) - set(WITHOUT_ONNX)
    assert unproven == set(), (
        "no model proves their types: a row of TEXTS, or one of WITHOUT_ONNX that names its live cases"
    )


@pytest.mark.parametrize("name", WITHOUT_ONNX)
def test_operators_without_onnx_have_cases(name: str) -> None:
    path, text = WITHOUT_ONNX[name]
    assert text in (Path(__file__).parents[2] / path).read_text()

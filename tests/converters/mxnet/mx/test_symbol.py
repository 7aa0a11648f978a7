"""`mx.sym`: what symbols say of themselves, against what MXNet 1.9.1 answered."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx
from graphir.errors import FormatError
from tests.typed import present

# case, expression: answered by MXNet on the symbols that the case holds. One a line.
ANSWERED = """
basic_ops c.list_arguments()
basic_ops c.list_outputs()
basic_ops g.list_arguments()
basic_ops g.get_internals().list_outputs()
basic_ops repr(c)
basic_ops g.attr_dict()
mlp net.list_arguments()
mlp net.list_outputs()
mlp net.list_auxiliary_states()
mlp net.list_inputs()
mlp net.get_internals().list_outputs()
mlp net.name
mlp net['out_output'].name
mlp net[0].list_outputs()
mlp len(net)
mlp net.attr_dict()
mlp net.list_attr()
mlp net.get_children().list_outputs()
mlp net.attr('name')
custom_weight_name net.list_arguments()
lhs_plus_rhs net.list_arguments()
lhs_plus_rhs net.get_internals().list_outputs()
compose_call composed.list_arguments()
compose_call composed.name
compose_call composed.get_internals().list_outputs()
compose_call net2.list_arguments()
name_prefix net.list_outputs()
conv_factory conv_comp.list_arguments()
conv_factory conv_comp.list_auxiliary_states()
conv_factory conv_comp.get_internals().list_outputs()
inception_factory_a in3a.list_arguments()
inception_factory_a in3a.list_outputs()
inception_factory_a in3a.list_auxiliary_states()
inception_factory_a in3a.get_internals().list_outputs()
group group.list_outputs()
group group.list_arguments()
group repr(group)
group group.name
group [s.name for s in group]
group group[1].name
group group['regression_output'].list_outputs()
group group.get_internals().list_outputs()
inception_resnet_infer_inside_builder n.list_outputs()
global_pool_tail n.list_arguments()
global_pool_tail [k for k in n.get_internals().list_outputs()]
gluon_hybrid_symbol repr(s)
gluon_hybrid_symbol s.list_arguments()
gluon_hybrid_symbol s.list_outputs()
gluon_hybrid_symbol s.get_internals().list_outputs()
attrs data.attr('mood')
attrs data.list_attr()
attrs f.attr('ctx_group')
attrs f.attr('__ctx_group__')
attrs f.attr_dict()
attrs f2.attr_dict()
attrs f2.list_attr()
""".strip().splitlines()


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    """The golden cases by id."""
    held = json.loads((shared / "golden" / "symbol_api.json").read_text())
    return {case["id"]: case for case in held["cases"]}


@pytest.mark.parametrize("row", ANSWERED)
def test_as_mxnet_answered(row: str, cases: dict[str, Any]) -> None:
    id_, _, expression = row.partition(" ")
    case = cases[id_]
    symbols = {name: mx.sym.load_json(text) for name, text in case["symbol_json"].items()}
    assert eval(expression, {"repr": repr, "len": len}, symbols) == case["results"][expression]


REFUSED = [
    pytest.param("group", "nosuch", ValueError, "no output named 'nosuch'; it has softmax_output", id="no such name"),
    pytest.param("group", 5, IndexError, "2 outputs, none with the number 5", id="no such number"),
]


@pytest.mark.parametrize(("id_", "key", "error", "text"), REFUSED)
def test_refused_as_mxnet_refused(id_: str, key: Any, error: type, text: str, cases: dict[str, Any]) -> None:
    group = mx.sym.load_json(cases[id_]["symbol_json"]["group"])
    with pytest.raises(error, match=text):
        group[key]
    assert cases[id_]["results"][f"group[{key!r}]"]["__error__"] == error.__name__


TWO = """{"nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "amp_cast", "name": "cast", "attrs": {"dtype": "float16"}, "inputs": [[0, 0, 0]]},
  {"op": "amp_multicast", "name": "multi", "attrs": {"num_outputs": "2"}, "inputs": [[1, 0, 0], [0, 0, 0]]},
  {"op": "elemwise_add", "name": "sum", "inputs": [[2, 0, 0], [2, 1, 0]]},
  {"op": "relu", "name": "same", "inputs": [[3, 0, 0]]}, {"op": "relu", "name": "same", "inputs": [[0, 0, 0]]}
  ], "arg_nodes": [0], "heads": [[4, 0, 0], [5, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""


def test_casts_of_mixed_precision_go_unless_kept() -> None:
    symbol = mx.sym.load_json(TWO)
    plain, kept = (mx.sym.load_json(symbol.tojson(remove)) for remove in (True, False))
    assert plain.get_internals().list_outputs() == ["x", "sum_output", "same_output", "same_output"]
    assert present(plain.get_children()).list_outputs() == ["sum_output", "x"]
    assert len(kept.get_internals()) == 7


WORDS = [
    ("mx.sym.FullyConected", AttributeError, r"no operator of that name there; there is FullyConnected$"),
    ("mx.sym.Qqqq", AttributeError, r"no operator of that name there$"),
    (
        "mx.sym.FullyConnected(x, num_hiden=3, name='f')",
        mx.MXNetError,
        "^FullyConnected 'f': cannot find argument 'num_hiden'",
    ),
    ("mx.sym.FullyConnected(x, name='f')", mx.MXNetError, "^node 'f' .*num_hidden is missing"),
    ("mx.sym.Group([x, y])['q']", ValueError, "no output named 'q'; it has x, y$"),
    ("fc.get_internals()['fc']", ValueError, "no output named 'fc'; there is .*fc_output"),
    ("mx.sym.Group([x] * 9)['y']", ValueError, "it has x, x, x, x, x, x, x, x and 1 more$"),
]


@pytest.mark.parametrize(("expression", "error", "text"), WORDS, ids=[row[0] for row in WORDS])
def test_an_error_names_what_is_near(expression: str, error: type[Exception], text: str) -> None:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    held = {"mx": mx, "x": x, "y": y, "fc": mx.sym.FullyConnected(x, num_hidden=1, name="fc")}
    with pytest.raises(error, match=text):
        eval(expression, held)


def test_a_name_that_comes_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="several outputs of the symbol are named 'same_output'"):
        mx.sym.load_json(TWO)["same_output"]


def test_a_part_holds_what_it_depends_on() -> None:
    part = mx.sym.load_json(TWO)[1]
    assert part.get_internals().list_outputs() == ["x", "same_output"]
    assert [node["name"] for node in json.loads(part.tojson())["nodes"]] == ["x", "same"]
    assert mx.sym.load_json(TWO)[0:1].list_outputs() == ["same_output"]
    assert part.get_internals()["x"].get_children() is None


def test_saved_is_loaded(tmp_path: Path) -> None:
    symbol = mx.sym.load_json(TWO)
    symbol.save(tmp_path / "m-symbol.json")
    assert mx.sym.load(tmp_path / "m-symbol.json").tojson() == symbol.tojson()


def test_what_is_no_symbol_is_refused() -> None:
    with pytest.raises(FormatError):
        mx.sym.load_json("[]")


MODELS = [
    *("gluoncv-cifar-resnet20-v1", "gluoncv-cifar-resnet20-v2", "go-test-linear", "mtcnn-det1-pnet"),
    *("toy-lenet-miraclewkf", "xdl-blaze-dnn"),
]


def answers(symbol: Any) -> dict[str, Any]:
    inner = symbol.get_internals()
    return {
        "arguments": symbol.list_arguments(),
        "states": symbol.list_auxiliary_states(),
        "inputs": symbol.list_inputs(),
        "outputs": symbol.list_outputs(),
        "internals": inner.list_outputs(),
        "attributes": symbol.attr_dict(),
        "children": [part.list_outputs() for part in inner],
        "name": symbol.name,
    }


@pytest.mark.live
@pytest.mark.parametrize("model", MODELS)
def test_real_model_answers_as_live_mxnet(model: str, shared: Path, mxnet: ModuleType) -> None:
    path = shared / "models" / "mxnet" / model / "model-symbol.json"
    live = mxnet.sym.load(str(path))
    assert answers(mx.sym.load(path)) == answers(live)
    assert answers(mxnet.sym.load_json(mx.sym.load(path).tojson())) == answers(live)


@pytest.mark.live
def test_groups_as_live_mxnet_groups(shared: Path, mxnet: ModuleType) -> None:
    path = shared / "models" / "mxnet" / "mtcnn-det2-rnet" / "model-symbol.json"

    def grouped(library: Any) -> Any:
        inner, other = library.sym.load(str(path)).get_internals(), library.sym.load_json(TWO)
        names = inner.list_outputs()
        return library.sym.Group([inner[names[-1]], other, inner[names[4]], inner[names[4]]])

    ours, live = grouped(mx), grouped(mxnet)
    assert answers(ours) == answers(live)
    assert answers(mxnet.sym.load_json(ours.tojson())) == answers(mxnet.sym.load_json(live.tojson()))


@pytest.mark.parametrize("symbols", [[], None, ["x"]], ids=str)
def test_what_cannot_be_grouped(symbols: Any) -> None:
    with pytest.raises(TypeError, match="expected a list of symbols"):
        mx.sym.Group(symbols)

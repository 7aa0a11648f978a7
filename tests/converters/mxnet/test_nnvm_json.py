"""Reading symbol.json: every version, every refusal, and what live MXNet makes of the same files."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet.files.nnvm_json import read_symbol, to_json
from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.errors import FormatError

VAR: dict[str, Any] = {"op": "null", "name": "data", "inputs": []}
RELU: dict[str, Any] = {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]}
NEW = {"mxnet_version": ["int", 10901]}


def document(*nodes: dict[str, Any], heads: Any = None, **more: Any) -> str:
    return json.dumps({"nodes": list(nodes), "arg_nodes": [], "heads": heads or [[len(nodes) - 1, 0, 0]], **more})


def variable(name: str, **attrs: str) -> dict[str, Any]:
    return {"op": "null", "name": name, "inputs": [], **({"attrs": attrs} if attrs else {})}


def operator(op: str, name: str, inputs: list[Any], **attrs: str) -> dict[str, Any]:
    return {"op": op, "name": name, "inputs": inputs, "attrs": attrs}


def normal(text: str) -> tuple[dict[str, Any], list[Any]]:
    """Nodes by name and heads, free of the order of nodes."""
    nodes = json.loads(text)["nodes"]
    named = {
        node["name"]: (node["op"], node.get("attrs", {}), [(nodes[i[0]]["name"], i[1]) for i in node["inputs"]])
        for node in nodes
    }
    return named, [(nodes[head[0]]["name"], head[1]) for head in json.loads(text)["heads"]]


class Symbol:
    def tojson(self) -> str:
        return document(VAR, RELU)


@pytest.mark.parametrize(
    "source",
    [
        document(VAR, RELU),
        "\n  " + document(VAR, RELU),
        document(VAR, RELU).encode(),
        b"\xef\xbb\xbf" + document(VAR, RELU).encode(),
        Symbol(),
        document({**VAR, "param": {}, "backward_source_id": -1}, {**RELU, "inputs": [[0, 0]]}, heads=[[1, 0]]),
    ],
    ids=["text", "space first", "bytes", "byte order mark", "tojson", "0.8"],
)
def test_sources(source: object) -> None:
    graph = read_symbol(source)
    assert [(node.op, node.name, node.inputs) for node in graph.nodes] == [
        ("null", "data", []),
        ("relu", "r", [(0, 0)]),
    ]
    assert graph.heads == [(1, 0)]


def test_path(tmp_path: Path) -> None:
    (tmp_path / "x-symbol.json").write_text(document(VAR, RELU))
    assert read_symbol(tmp_path / "x-symbol.json") == read_symbol(str(tmp_path / "x-symbol.json"))


@pytest.mark.parametrize(
    "attributes, version, np_shape",
    [
        ({}, 800, False),
        ({"attrs": {}}, 800, False),
        ({"attrs": {"mxnet_version": ["int", 905]}}, 905, False),
        ({"attrs": {"mxnet_version": ["int", 20000], "is_np_shape": ["int", 1]}}, 20000, True),
    ],
)
def test_version(attributes: dict[str, Any], version: int, np_shape: bool) -> None:
    graph = read_symbol(document(VAR, RELU, **attributes))
    assert (graph.version, graph.np_shape) == (version, np_shape)


@pytest.mark.parametrize(
    "parts, attrs, annotations",
    [
        ({"attrs": {"axis": "1"}}, {"axis": "1"}, {}),
        ({"attr": {"axis": "1"}}, {"axis": "1"}, {}),
        ({"param": {"axis": "1"}, "attr": {"__ctx_group__": "a"}}, {"axis": "1"}, {"__ctx_group__": "a"}),
        ({"param": {"axis": "1"}, "attrs": {"axis": "2"}}, {"axis": "2"}, {}),
        ({"attrs": {"axis": "1", "__x__": "y"}}, {"axis": "1"}, {"__x__": "y"}),
        ({}, {}, {}),
    ],
)
def test_attributes_are_merged(parts: dict[str, Any], attrs: dict[str, str], annotations: dict[str, str]) -> None:
    node = read_symbol(document(VAR, {"op": "softmax", "name": "s", "inputs": [[0, 0]], **parts}, attrs=NEW)).nodes[1]
    assert (node.attrs, node.annotations) == (attrs, annotations)


@pytest.mark.parametrize(
    "op, known, source_op",
    [("_Plus", "elemwise_add", "_Plus"), ("elemwise_add", "elemwise_add", ""), ("MyOwn", "MyOwn", "")],
)
def test_operator_names(op: str, known: str, source_op: str) -> None:
    graph = read_symbol(document(VAR, operator(op, "n", [[0, 0], [0, 0]]), attrs=NEW))
    assert (graph.nodes[1].op, graph.nodes[1].source_op, graph.upgrades) == (known, source_op, [])


OLD_CONV = {"kernel": "(1,1)", "num_filter": "1", "no_bias": "True"}
UPGRADES = [
    ("R1", 10000, [variable("data", lr_mult="2")], ["lr_mult became __lr_mult__"]),
    ("R1", 10901, [variable("data", lr_mult="2")], []),
    (
        "R1",
        905,
        [
            variable("data"),
            variable("w"),
            operator("Convolution", "c", [[0, 0], [1, 0]], weight_lr_mult="2", **OLD_CONV),
        ],
        ["weight_lr_mult became __lr_mult__ of w"],
    ),
    (
        "R3",
        800,
        [variable("data"), variable("g"), variable("b"), operator("BatchNorm", "bn", [[0, 0], [1, 0], [2, 0]])],
        ["the missing input moving_mean became bn_moving_mean", "the missing input moving_var became bn_moving_var"],
    ),
    (
        "R4",
        903,
        [variable("data"), variable("g"), operator("LeakyReLU", "l", [[0, 0], [1, 0]], act_type="prelu")],
        ['g got __init__ ["Constant", {"value": 0.25}]'],
    ),
    (
        "R4",
        904,
        [variable("data"), variable("g"), operator("LeakyReLU", "l", [[0, 0], [1, 0]], act_type="prelu")],
        [],
    ),
    (
        "R4",
        903,
        [variable("data"), variable("g", __init__="x"), operator("LeakyReLU", "l", [[0, 0], [1, 0]], act_type="prelu")],
        [],
    ),
    ("R5", 904, [VAR, operator("argmax", "a", [[0, 0]], axis="-1")], ["axis -1 meant all axes: it was removed"]),
    ("R5", 905, [VAR, operator("argmax", "a", [[0, 0]], axis="-1")], []),
    ("R5", 904, [VAR, operator("argmax", "a", [[0, 0]], axis="1")], []),
    ("R2", 10500, [VAR, operator("_sg_mkldnn_conv", "q", [[0, 0]], with_relu="true")], ["with_relu became with_act"]),
]


@pytest.mark.parametrize("rule, version, nodes, expected", UPGRADES)
def test_upgrades(rule: str, version: int, nodes: list[dict[str, Any]], expected: list[str]) -> None:
    graph = read_symbol(document(*nodes, attrs={"mxnet_version": ["int", version]}))
    assert [upgrade.text for upgrade in graph.upgrades if upgrade.rule == rule] == expected


@pytest.mark.live
@pytest.mark.parametrize("rule, version, nodes, expected", [row for row in UPGRADES if row[0] != "R2"])
def test_upgrades_are_those_of_live_mxnet(
    mxnet: ModuleType, rule: str, version: int, nodes: list[dict[str, Any]], expected: list[str]
) -> None:
    text = document(*nodes, attrs={"mxnet_version": ["int", version]})
    assert normal(to_json(read_symbol(text))) == normal(mxnet.sym.load_json(text).tojson())


def test_added_variables_come_before_their_node() -> None:
    graph = read_symbol(document(VAR, operator("FullyConnected", "fc", [[0, 0]], num_hidden="3")))
    assert [node.name for node in graph.nodes] == ["data", "fc_weight", "fc_bias", "fc"]
    assert (graph.nodes[3].inputs, graph.heads) == ([(0, 0), (1, 0), (2, 0)], [(3, 0)])


def test_nodes_out_of_order_are_sorted() -> None:
    graph = read_symbol(document({**RELU, "inputs": [[1, 0, 0]]}, VAR, heads=[[0, 0, 0]], attrs=NEW))
    assert [node.name for node in graph.nodes] == ["data", "r"]
    assert (graph.nodes[1].inputs, graph.heads) == ([(0, 0)], [(1, 0)])


def test_duplicate_names_are_kept() -> None:
    graph = read_symbol(document(VAR, RELU, {**RELU, "inputs": [[1, 0, 0]]}, attrs=NEW))
    assert [node.name for node in graph.nodes] == ["data", "r", "r"]


def test_subgraphs() -> None:
    inner = json.loads(document(VAR, operator("_Plus", "p", [[0, 0], [0, 0]])))
    places = {"num_out_data": "1", "in_state_locs": "[]", "in_data_locs": "[0]", "remain_locs": "[]"}
    loop = {**operator("_foreach", "f", [[0, 0]], num_outputs="2", **places), "subgraphs": [inner]}
    graph = read_symbol(document(VAR, loop, heads=[[1, 1, 0]], attrs=NEW))
    assert [node.op for node in graph.nodes[1].subgraphs[0].nodes] == ["null", "elemwise_add"]
    assert read_symbol(to_json(graph)).nodes[1].subgraphs[0].heads == [(1, 0)]


@pytest.mark.parametrize(
    "source, message",
    [
        ("{", "invalid JSON at line 1, column 2"),
        ('{"nodes": [\n}', "invalid JSON at line 2, column 1"),
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS"),
        (b"[1, 2]", "expected a JSON object"),
        (b"\x12\x01\0\0\0\0\0\0\xff\xff", r"\.params"),
        (b'{"nodes": "\xff"}', "UTF-8"),
        ("{}", "'nodes' is missing"),
        ('{"nodes": 3}', "'nodes' is a int"),
        ('{"nodes": []}', "'heads' is missing"),
        ('{"nodes": [], "heads": []}', "no heads"),
        (document(VAR, heads=[[1, 0, 0]]), r"heads\[0\]"),
        (document(VAR, heads=[[0, 1, 0]]), r"output 1 of 'data'.*has 1.*heads\[0\]"),
        (document(VAR, heads=[[-1, 0, 0]]), r"heads\[0\]"),
        (document(VAR, heads=[0]), r"heads\[0\]"),
        (document(VAR, {**RELU, "inputs": [[5, 0, 0]]}), r"there are 2 nodes \(at nodes\[1\]\.inputs\[0\]\)"),
        (document(VAR, {**RELU, "inputs": [[0, 0], [0, 3]]}), r"output 3 .*nodes\[1\]\.inputs\[1\]"),
        (document(VAR, {**RELU, "inputs": [["0", 0]]}), r"nodes\[1\]\.inputs\[0\]"),
        (document(VAR, {**RELU, "inputs": [0]}), r"nodes\[1\]\.inputs"),
        (document(VAR, {**RELU, "inputs": [[0]]}), r"nodes\[1\]\.inputs"),
        (document(VAR, {"op": "relu", "inputs": []}), r"'name'.*nodes\[1\]\.name"),
        (document(VAR, {"name": "r", "inputs": []}), r"nodes\[1\]\.op"),
        (document(VAR, {"op": "relu", "name": "r"}), r"nodes\[1\]\.inputs"),
        (document(VAR, {**RELU, "name": ["r"]}), r"expected str, found list.*nodes\[1\]\.name"),
        (document(VAR, {**RELU, "op": 3}), r"expected str, found int.*nodes\[1\]\.op"),
        (document(VAR, {**RELU, "name": "\ud800"}), "half of a surrogate pair"),
        (document(VAR, {**RELU, "attrs": {"axis": 1}}), r"axis is 1, expected a string.*nodes\[1\]\.attrs\.axis"),
        (document(VAR, {**RELU, "attrs": ["axis"]}), r"nodes\[1\]"),
        (document(VAR, {**RELU, "inputs": [[1, 0, 0]]}), r"cycle: r <- r"),
        (document({**RELU, "name": "a", "inputs": [[1, 0]]}, {**RELU, "name": "b"}), "cycle: a <- b <- a"),
        (document(VAR, {**VAR, "name": "v", "inputs": [[0, 0]]}), "variable 'v' has inputs"),
        (document(VAR, RELU, attrs={"mxnet_version": "1.9.1"}), r"attrs\.mxnet_version"),
        (3, "got int"),
        ("no/such/file-symbol.json", "No such file"),
    ],
)
def test_refusals(source: object, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_symbol(source)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(FormatError):
            read_symbol("{")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_a_long_chain() -> None:
    chain = [operator("relu", f"r{slot}", [[slot + 1, 0]]) for slot in reversed(range(20_000))]
    nodes = [{**node, "inputs": [[slot + 1, 0]]} for slot, node in enumerate(chain)]
    assert len(read_symbol(document(*nodes, VAR, heads=[[0, 0]])).nodes) == 20_001


SYMBOLS = (
    "mxnet/gluoncv-cifar-resnet20-v1",
    "mxnet/gluoncv-cifar-resnet20-v2",
    "mxnet/go-test-linear",
    "mxnet/mtcnn-det1-pnet",
    "mxnet/mtcnn-det2-rnet",
    "mxnet/mtcnn-det3-onet",
    "mxnet/toy-lenet-miraclewkf",
    "mxnet/xdl-blaze-dnn",
    "mxnet_symbol_only/gluoncv-cifar-resnet110-v1",
    "mxnet_symbol_only/gluoncv-cifar-wideresnet16-10",
    "mxnet_symbol_only/int8-mobilenet1.0",
    "mxnet_symbol_only/int8-ssd300-vgg16",
    "mxnet_symbol_only/lightened-cnn",
    "mxnet_symbol_only/lstm-ptb-mms",
    "mxnet_symbol_only/mxnet-clojure-imclass",
    "mxnet_symbol_only/mxnet-mkldnn-model1",
    "mxnet_symbol_only/mxnet-save-000800",
    "mxnet_symbol_only/neural-art-squeezenet",
    "mxnet_symbol_only/resnet-18-miracle",
    "mxnet_symbol_only/squeezenet-v1.1-mms",
    "mxnet_symbol_only/vgg16-fcn-ilsvrc",
    "mxnet_symbol_only/vgg16-reduced",
    "mxnet_symbol_only/xdl-blaze-din",
)


@pytest.mark.live
@pytest.mark.parametrize("folder", SYMBOLS)
def test_real_symbols_upgrade_as_in_live_mxnet(shared: Path, mxnet: ModuleType, folder: str) -> None:
    path = shared / "models" / folder / "model-symbol.json"
    live = normal(mxnet.sym.load(str(path)).tojson(remove_amp_cast=False))
    ours = to_json(read_symbol(path))
    assert normal(ours) == live
    assert normal(mxnet.sym.load_json(ours).tojson(remove_amp_cast=False)) == live


@pytest.mark.parametrize("folder", [*SYMBOLS, "mxnet/bmxnet-mnist-32"])
def test_real_symbols_survive_writing(shared: Path, folder: str) -> None:
    def records(graph: NNVMGraph) -> list[Any]:
        return [(node.op, node.name, node.attrs, node.annotations, node.inputs) for node in graph.nodes]

    graph = read_symbol(shared / "models" / folder / "model-symbol.json")
    again = read_symbol(to_json(graph))
    assert (records(again), again.heads, again.upgrades) == (records(graph), graph.heads, [])


def test_unknown_operators_are_no_error(shared: Path) -> None:
    graph = read_symbol(shared / "models" / "mxnet" / "bmxnet-mnist-32" / "model-symbol.json")
    assert {node.op for node in graph.nodes} >= {"QActivation", "QConvolution", "QFullyConnected"}


def test_golden_resnet(shared: Path) -> None:
    graph = read_symbol(shared / "golden" / "resnet18_v2_symbol.json")
    assert (len(graph.nodes), graph.version, graph.upgrades) == (172, 10901, [])


def test_names_beyond_ascii_are_written_as_they_are() -> None:
    """Live MXNet's JSON reader knows no escapes beyond ASCII."""
    written = to_json(read_symbol(document(VAR, {**RELU, "name": "s\u00fc\u00df"})))
    assert "s\u00fc\u00df" in written

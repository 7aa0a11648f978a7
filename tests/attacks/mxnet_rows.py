"""Hostile symbols and parameter files."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from typing import Any

import numpy as np

from tests.attacks.attack import Attack
from tests.fuzz.formats.mxnet import list_file
from tests.fuzz.json_ import LONG

SHAPES = {"x": (2, 3, 8, 8)}
BILLION = "1000000000"


def symbol(*nodes: dict[str, Any], heads: int | None = None, version: Any = 10901) -> bytes:
    """A symbol of an input x, a weight w and the given nodes; the last one is its head."""
    every = [{"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "w", "inputs": []}, *nodes]
    document = {"nodes": every, "arg_nodes": [0, 1], "heads": [[len(every) - 1 if heads is None else heads, 0, 0]],
                "attrs": {"mxnet_version": ["int", version]}}  # fmt: skip
    return json.dumps(document).encode()


def node(op: str, *inputs: int, name: str = "node", **attributes: object) -> dict[str, Any]:
    """A node fed by the first results of others."""
    texts = {key: str(value) for key, value in attributes.items()}
    return {"op": op, "name": name, "attrs": texts, "inputs": [[slot, 0, 0] for slot in inputs]}


def one(name: str, made: dict[str, Any], refused: str = "", shapes: Any = None, **more: Any) -> Attack:
    """A symbol of one node."""
    files = {"m-symbol.json": symbol(made)}
    return Attack(
        name, "m-symbol.json", files, refused, options={"shapes": SHAPES if shapes is None else shapes}, **more
    )


COUNTS = (
    one("outputs of SliceChannel", node("SliceChannel", 0, num_outputs=BILLION), "asks for"),
    one(
        "outputs of SliceChannel, squeezed",
        node("SliceChannel", 0, num_outputs=2**31 - 1, squeeze_axis=True),
        "asks for",
    ),
    one("sections of _split_v2", node("_split_v2", 0, sections=BILLION, axis=1, indices="()"), "asks for"),
    one("layers of RNN", node("RNN", 0, 1, 1, 1, num_layers=10**8, state_size=2, mode="lstm"), "layers"),
    one("layers of RNN at the end of int", node("RNN", 0, 1, 1, num_layers=2**31 - 1, state_size=1, mode="rnn_tanh")),
    one("state of RNN", node("RNN", 0, 1, 1, num_layers=1, state_size=10**9, mode="gru")),
    one("operands of add_n", node("add_n", 0, 1, num_args=BILLION), "asks for"),
    one("operands of Concat", node("Concat", 0, 1, num_args=BILLION), "asks for"),
    one("operands of stack", node("stack", 0, 1, num_args=BILLION), "asks for"),
    one("outputs of amp_multicast", node("amp_multicast", 0, num_outputs=BILLION), "asks for"),
    one("outputs of _foreach", node("_foreach", 0, num_outputs=BILLION, num_args=1, num_out_data=BILLION)),
    one("axes of reps", node("tile", 0, reps="(1," * 1 + "1," * 2000 + ")")),
    one("axes of a shape", node("_zeros", shape="(" + "1," * 3000 + ")")),
    one("axes of Reshape", node("Reshape", 0, shape="(" + "1," * 3000 + "-1)")),
    one("axes of transpose", node("transpose", 0, axes="(" + "0," * 3000 + ")")),
    one("sizes of MultiBoxPrior", node("_contrib_MultiBoxPrior", 0, sizes="(" + "0.5," * 2000 + ")")),
    one(
        "sizes and ratios of MultiBoxPrior on a huge image",
        node("_contrib_MultiBoxPrior", 0, sizes="(" + "0.5," * 1000 + ")", ratios="(" + "2," * 1000 + ")"),
        shapes={"x": (1, 3, 40000, 40000)},
    ),
    one("levels of khatri_rao", node("khatri_rao", 0, 1, num_args=10**9)),
    one("bins of histogram", node("_histogram", 0, bin_cnt=10**9, range="(0, 1)")),
    one("classes of MultiBoxDetection", node("_contrib_MultiBoxDetection", 0, 1, 0, nms_topk=10**9)),
    one("filters beyond int", node("Convolution", 0, 1, kernel="(3, 3)", num_filter=2**32, no_bias=True), "num_filter"),
    one("filters beyond a sign", node("Convolution", 0, 1, kernel="(3, 3)", num_filter=2**31, no_bias=True)),
    one("groups", node("Convolution", 0, 1, kernel="(3, 3)", num_filter=8, num_group=2**31 - 1, no_bias=True)),
    one("hidden", node("FullyConnected", 0, 1, num_hidden=2**31 - 1, no_bias=True)),
    one("max_iterations of _while_loop", node("_while_loop", 0, max_iterations=10**9, num_args=1, num_outputs=1)),
)

FITTING = (
    one("a vector as a matrix of _linalg_syrk", node("_linalg_syrk", 0), "2 or more", shapes={"x": (3,)}),
    one("a vector as a matrix of _linalg_gemm2", node("_linalg_gemm2", 0, 0, axis=-1), "", shapes={"x": (3,)}),
    one("too few inputs", node("where", 0, 1), "takes 3"),
    one("too many inputs", node("relu", 0, 0), "takes 1"),
    one("no inputs", node("_hypot"), "takes 2"),
    one("an input too many of a product", node("_linalg_gemm2", 0, 0, 0), "takes 2"),
    one("a crop by one number", node("Crop", 0, num_args=1, h_w="(2, 2)", offset="(1,)"), "offset"),
    one("a crop to three numbers", node("Crop", 0, num_args=1, h_w="(2, 2, 2)"), "h_w"),
    one("a grid of one size", node("GridGenerator", 0, transform_type="affine", target_shape="(4,)"), "target_shape"),
    one("regions of one size", node("_contrib_ROIAlign", 0, 1, pooled_size="(4,)", spatial_scale=1), "pooled_size"),
    one("a kernel left open", node("Convolution", 0, 1, kernel="(None, 3)", num_filter=3, no_bias=True), "left open"),
    one("a kernel of nothing", node("Pooling", 0, kernel="(0, 3)"), "kernel"),
    one("a stride of 0", node("Pooling", 0, kernel="(3, 3)", stride="(0, 1)"), "stride"),
    one("a pad below 0", node("Convolution", 0, 1, kernel="(3, 3)", num_filter=3, no_bias=True, pad="(-9, 0)"), "pad"),
    one("strides of one axis", node("Deconvolution", 0, 1, kernel="(3, 3)", num_filter=3, stride="(2,)"), "stride"),
    one("no groups", node("Deconvolution", 0, 1, kernel="(3, 3)", num_filter=3, num_group=0), "num_group"),
    one("no filters", node("Convolution", 0, 1, kernel="(3, 3)", num_filter=0, no_bias=True), "num_filter"),
    one("ratios below 0", node("_contrib_MultiBoxPrior", 0, ratios="(-1, 0)"), "ratios"),
    one("a range that goes nowhere", node("_arange", start=1e30, stop=5, step=1), "nothing from"),
    one("a range of fewer than no numbers", node("_linspace", start=0, stop=1, num=-1), "num -1"),
    one("an enumeration without a value", node("_contrib_box_nms", 0, in_format="None"), "in_format"),
)

ELEMENTS = (
    one("honest zeros", node("_zeros", shape="(100000000,)")),
    one("honest ones in MXNet", node("_ones", shape="(100000000,)"), target="result-symbol.json"),
    one("honest zeros in JSON", node("_zeros", shape="(100000000,)"), target="result.graphir.json"),
    one("zeros beyond every file", node("_zeros", shape="(1000000000, 1000000000)")),
    one("full", node("_full", shape="(10000000000,)", value=3)),
    one("ones times data", node("_ones", shape="(100000000000,)")),
    one("arange", node("_arange", start=0, stop=1e12, step=1)),
    one("arange, repeated", node("_arange", start=0, stop=10, step=1, repeat=2**31 - 1)),
    one("arange of tiny steps", node("_arange", start=0, stop=1, step=1e-300)),
    one("arange without an end", node("_arange", start=0, stop="inf", step=1)),
    one("linspace", node("_linspace", start=0, stop=1, num=2**31 - 1)),
    one("eye", node("_eye", N=10**9, M=10**9)),
    one("eye, narrow", node("_eye", N=10**12, M=1)),
    *(
        one(f"{op} of a matrix that is claimed", node(op, 0), refused, shapes={"x": shape})
        for op, shape, refused in (
            ("_linalg_gelqf", (1, 1 << 20), "a unit matrix"), ("_linalg_inverse", (1 << 20, 1 << 20), "a unit matrix"),
            ("_linalg_syevd", (1 << 14, 1 << 14), "a triangle of a matrix"),
            ("_npi_svd", (1 << 14, 1 << 14), "the pairs of a matrix's rows"),
            ("_linalg_extracttrian", (1 << 14, 1 << 14), "the places of a triangle"),
            ("_linalg_maketrian", (134225920,), "the places of a triangle"),
            ("_linalg_extractdiag", (1 << 33, 1 << 33), "the places of a diagonal"),
            ("_linalg_makediag", (1 << 33,), "the places of a diagonal"),
            ("diag", (1 << 23,), ""), ("diag", (1 << 23, 1 << 23), ""), ("_linalg_extractdiag", (1 << 24, 1 << 24), ""),
        )
    ),
    one("one_hot", node("one_hot", 0, depth=10**9)),
    one("tile", node("tile", 0, reps="(1000000000, 1000000000)")),
    one("repeat", node("repeat", 0, repeats=10**9)),
    one("Pad", node("Pad", 0, mode="constant", pad_width="(0,0,0,0,1000000000,0,1000000000,0)")),
    one("UpSampling", node("UpSampling", 0, scale=10**9, sample_type="nearest", num_args=1)),
    one("bilinear UpSampling", node("UpSampling", 0, 1, scale=10**6, sample_type="bilinear", num_args=2)),
    one("BilinearResize2D", node("_contrib_BilinearResize2D", 0, height=2**31 - 1, width=2**31 - 1)),
    one("AdaptiveAvgPooling2D", node("_contrib_AdaptiveAvgPooling2D", 0, output_size=f"({BILLION},{BILLION})")),
    one(
        "AdaptiveAvgPooling2D of a size that does not divide",
        node("_contrib_AdaptiveAvgPooling2D", 0, output_size="(99999,)"),
    ),
    one("GridGenerator", node("GridGenerator", 0, transform_type="affine", target_shape=f"({BILLION},{BILLION})")),
    one(
        "SpatialTransformer",
        node(
            "SpatialTransformer", 0, 1, transform_type="affine", sampler_type="bilinear", target_shape="(100000,100000)"
        ),
    ),
    one("Pooling window", node("Pooling", 0, kernel="(1000000000,1000000000)", pool_type="avg")),
    one(
        "Pooling with pads",
        node("Pooling", 0, kernel="(3,3)", pad=f"({BILLION},{BILLION})", pool_type="avg", pooling_convention="full"),
    ),
    one("Pooling p", node("Pooling", 0, kernel="(3,3)", pool_type="lp", p_value=2**31 - 1)),
    one("LRN", node("LRN", 0, nsize=2**31 - 1)),
    one(
        "dilation",
        node("Convolution", 0, 1, kernel="(3,3)", num_filter=4, no_bias=True, dilate=f"({BILLION},{BILLION})"),
    ),
    one(
        "Deconvolution",
        node(
            "Deconvolution", 0, 1, kernel="(3,3)", num_filter=4, stride=f"({BILLION},{BILLION})", target_shape="(1,1)"
        ),
    ),
    one("Correlation", node("Correlation", 0, 0, max_displacement=10**6, kernel_size=1)),
    one("Embedding", node("Embedding", 0, 1, input_dim=10**18, output_dim=10**18)),
    one(
        "SequenceMask over a billion steps",
        node("SequenceMask", 0, 1, use_sequence_length=True),
        shapes={"x": (10**10, 2)},
    ),
    one("SequenceReverse of one axis", node("SequenceReverse", 0, 1, use_sequence_length=True), shapes={"x": (3,)}),
    one("diag of a vector", node("diag", 0), shapes={"x": (10**10,)}),
    one("diag of a matrix", node("diag", 0), shapes={"x": (10**10, 10**10)}),
    one("topk", node("topk", 0, k=2**31 - 1)),
    one("broadcast_to", node("broadcast_to", 0, shape="(2,3,8,8)")),
    one("broadcast_axis", node("broadcast_axis", 0, axis="(0,)", size="(1000000000,)"), shapes={"x": (1, 3)}),
    one("space_to_depth", node("space_to_depth", 0, block_size=2**31 - 1)),
    one("im2col", node("im2col", 0, kernel="(30000,30000)", pad="(30000,30000)")),
    one("ROIPooling", node("ROIPooling", 0, 1, pooled_size="(100000,100000)", spatial_scale=1)),
    one("PSROIPooling", node("_contrib_PSROIPooling", 0, 1, spatial_scale=1, output_dim=2**31 - 1, pooled_size=10**6)),
    one("Proposal", node("_contrib_Proposal", 0, 0, 1, scales="(" + "8," * 1500 + ")", ratios="(" + "1," * 1500 + ")")),
    one("a shape of many digits", node("_zeros", shape=f"({LONG},)")),
    one("a shape beyond 64 bits", node("_zeros", shape=f"({2**64},)")),
    one("random numbers", node("_random_uniform", shape="(1000000000,)")),
    one("interleaved heads", node("_contrib_interleaved_matmul_selfatt_qk", 0, heads=2**31 - 1)),
    one("windows", node("_npi_hanning", M=10**12)),
    one("indices", node("_npi_indices", dimensions="(1000000,1000000)")),
)


def chain(name: str, start: dict[str, Any], step: str, length: int, refused: str = "", **attributes: object) -> Attack:
    """Each node takes the one before twice."""
    nodes = [start]
    for slot in range(length):
        nodes.append(node(step, slot + 2, slot + 2, name=f"n{slot}", **attributes))
    return Attack(name, "m-symbol.json", {"m-symbol.json": symbol(*nodes)}, refused, options={"shapes": SHAPES})


def nested(depth: int) -> bytes:
    """Subgraphs in subgraphs."""
    graph: dict[str, Any] = {
        "nodes": [{"op": "null", "name": "i", "inputs": []}],
        "arg_nodes": [0],
        "heads": [[0, 0, 0]],
    }
    for slot in range(depth):
        inner = {
            **node("_foreach", 0, name=f"f{slot}", num_args=1, num_outputs=1, num_out_data=1),
            "subgraphs": [graph],
        }
        graph = {
            "nodes": [{"op": "null", "name": f"v{slot}", "inputs": []}, inner],
            "arg_nodes": [0],
            "heads": [[1, 0, 0]],
        }
    return json.dumps(graph).encode()


GROWTH = (
    chain("constants that double", node("_ones", shape="(1000,)", name="start"), "Concat", 50, num_args=2, dim=0),
    chain("data that double", node("relu", 0, name="start"), "Concat", 70, num_args=2, dim=1),
    chain("sums of constants", node("_ones", shape="(1000,)", name="start"), "elemwise_add", 60),
    chain("outer products", node("_arange", start=0, stop=2000, name="start"), "_npi_tensordot_int_axes", 5, axes=0),
    Attack("graphs in graphs", "m-symbol.json", {"m-symbol.json": nested(60)}),
    Attack("graphs in graphs, deeper than Python", "m-symbol.json", {"m-symbol.json": nested(230)}),
    Attack("brackets", "m-symbol.json", {"m-symbol.json": b'{"nodes": ' + b"[" * 100_000}),
    Attack("brackets that close", "m-symbol.json", {"m-symbol.json": b'{"nodes": ' + b"[" * 5000 + b"]" * 5000 + b"}"}),
    Attack("one node many times", "m-symbol.json", {"m-symbol.json": symbol(*[node("relu", 0)] * 60)}),
    Attack("a wide sum", "m-symbol.json", {"m-symbol.json": symbol(node("add_n", *[0] * 1200, num_args=1200))}),
)

FIVE_THOUSAND = LONG.encode()


def text_with(old: bytes, new: bytes) -> dict[str, bytes]:
    """A plain symbol with a part of its text replaced."""
    return {"m-symbol.json": symbol(node("relu", 0)).replace(old, new, 1)}


TEXTS = (
    Attack("5,000 digits in the version", "m-symbol.json", text_with(b"10901", FIVE_THOUSAND), "digits"),
    Attack(
        "5,000 digits in an input",
        "m-symbol.json",
        text_with(b"[[0, 0, 0]]", b"[[%s, 0, 0]]" % FIVE_THOUSAND),
        "digits",
    ),
    Attack("5,000 digits in the heads", "m-symbol.json", text_with(b"[[2,", b"[[%s," % FIVE_THOUSAND), "digits"),
    Attack("a negative number of 5,000 digits", "m-symbol.json", text_with(b"10901", b"-" + FIVE_THOUSAND), "digits"),
    Attack("an input beyond 64 bits", "m-symbol.json", text_with(b"[[0, 0, 0]]", b"[[0, 18446744073709551616, 0]]")),
    Attack("NaN for a number", "m-symbol.json", text_with(b"10901", b"NaN")),
    Attack("infinity for a number", "m-symbol.json", text_with(b"10901", b"1e999")),
    Attack("half a pair in a name", "m-symbol.json", text_with(b'"name": "x"', b'"name": "\\ud800"'), "surrogate"),
    Attack("no text at all", "m-symbol.json", {"m-symbol.json": b"\xff\xfe" * 50}, "UTF-8"),
    one("a number of 5,000 digits as an attribute", node("FullyConnected", 0, 1, num_hidden=LONG), "num_hidden"),
    one("a float of 5,000 digits", node("LeakyReLU", 0, act_type="leaky", slope=LONG)),
    one("a version of 9s that sorts nodes", node("Convolution", 0, 1, kernel=f"({LONG},3)", num_filter=3), "kernel"),
    one("100,000 open brackets as a shape", node("Reshape", 0, shape="(1, 2" + "[" * 100_000 + ")"), "shape"),
    one("100,000 blanks as a shape", node("Reshape", 0, shape="(" + " " * 100_000 + "x"), "shape"),
    one("open brackets as a shape", node("Reshape", 0, shape="(" * 9000), "shape"),
    one("brackets as a tuple of tuples", node("_contrib_MultiBoxPrior", 0, sizes="((" * 2000 + "1" + ")" * 4000)),
    one("digits of another script", node("SliceChannel", 0, num_outputs="\u0663"), "num_outputs"),
    one("a lib that is loaded", node("Custom", 0, op_type="../../evil.so"), "Custom"),
    Attack(
        "a huge hint of a shape",
        "m-symbol.json",
        text_with(b'"name": "x"', b'"name": "x", "attrs": {"__shape__": "(%s,)"}' % FIVE_THOUSAND),
    ),
    Attack(
        "a hint of too many axes",
        "m-symbol.json",
        text_with(b'"name": "x"', b'"name": "x", "attrs": {"__shape__": "(%s)"}' % (b"1," * 4000)),
    ),
    Attack(
        "a dtype that is none",
        "m-symbol.json",
        text_with(b'"name": "x"', b'"name": "x", "attrs": {"__dtype__": "%s"}' % FIVE_THOUSAND),
    ),
)


def header(*dims: int, ndim: int | None = None, flag: int = 0, storage: int = 0, magic: int = 0xF993FAC9) -> bytes:
    """An array of layout V2 without its elements."""
    return struct.pack(f"<Iii{len(dims)}qiii", magic, storage, len(dims) if ndim is None else ndim, *dims, 1, 0, flag)


def sparse(shape: tuple[int, ...], rows: int = 1) -> bytes:
    """A row_sparse array of one row whose dense shape is claimed."""
    stored = (rows, *shape[1:])
    head = struct.pack(f"<Iii{len(stored)}q", 0xF993FAC9, 1, len(stored), *stored)
    head += struct.pack(f"<i{len(shape)}qiii", len(shape), *shape, 1, 0, 0) + struct.pack("<iiq", 6, 1, rows)
    return head + b"\0" * (4 * int(np.prod(stored))) + b"\0" * 8 * rows


def params(name: str, content: bytes, refused: str = "", **more: Any) -> Attack:
    """A parameter file beside a symbol that adds w to x."""
    files = {"m-symbol.json": symbol(node("broadcast_add", 0, 1)), "m-0000.params": content}
    return Attack(name, "m-symbol.json", files, refused, options={"shapes": {"x": (1,)}}, **more)


def archive(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, content in entries:
            made.writestr(zipfile.ZipInfo(name), content, method, 9)
    return buffer.getvalue()


def npy(shape: str, descr: str = "<f4", size: int = 0) -> bytes:
    """An array's file with that header and so many zeros."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode() + b"\0" * size


def overlapping(copies: int) -> bytes:
    """An archive whose directory names one compressed entry many times."""
    size = 4 << 20
    data = archive(("w.npy", npy(f"({size // 4},)", size=size)))
    start = data.find(b"PK\x01\x02")
    end = data.find(b"PK\x05\x06")
    entry = data[start:end]
    names = [b"%c%c.npy" % (97 + slot // 26, 97 + slot % 26) for slot in range(copies)]
    directory = b"".join(entry[:28] + struct.pack("<H", 6) + entry[30:46] + name for name in names)
    tail = struct.pack("<HHHHIIH", 0, 0, copies, copies, len(directory), start, 0)
    return data[:start] + directory + b"PK\x05\x06" + tail


def claimed(size: int) -> bytes:
    """An archive whose headers say that an entry has `size` bytes."""
    data = bytearray(archive(("w.npy", npy("(3,)", size=12))))
    struct.pack_into("<I", data, 22, size)
    struct.pack_into("<I", data, data.find(b"PK\x01\x02") + 24, size)
    return bytes(data)


PARAMETERS = (
    params(
        "names of gluon's with long counters",
        list_file([header(1) + b"\0" * 4] * 2, ["a." + "1" * 60_000 + "x", f"b{LONG}.weight"]),
    ),
    params("more arrays than bytes", struct.pack("<QQQ", 0x112, 0, 2**60), "promises"),
    params(
        "more names than arrays",
        struct.pack("<QQQ", 0x112, 0, 1) + header(1) + b"\0" * 4 + struct.pack("<Q", 2**60),
        "names",
    ),
    params(
        "a long name", struct.pack("<QQQ", 0x112, 0, 1) + header(1) + b"\0" * 4 + struct.pack("<QQ", 1, 2**63), "long"
    ),
    params("many axes", list_file([header(ndim=2**31 - 1)], ["arg:w"]), "dimensions"),
    params("axes below zero", list_file([header(ndim=-(2**31))], ["arg:w"]), "dimensions"),
    params("a product beyond 64 bits", list_file([header(2**40, 2**40)], ["arg:w"]), "size"),
    params("a size below zero", list_file([header(-5, 3)], ["arg:w"]), "shape"),
    params("a claim of a terabyte", list_file([header(2**40)], ["arg:w"]), "cut short"),
    params("a zero and a huge size", list_file([header(0, 2**62)], ["arg:w"])),
    params("rows of a huge array", list_file([sparse((10**9, 3))], ["arg:w"])),
    params("rows of a huge array in MXNet", list_file([sparse((10**9, 3))], ["arg:w"]), target="result-symbol.json"),
    params("rows of a huge array in JSON", list_file([sparse((10**8, 3))], ["arg:w"]), target="result.graphir.json"),
    params("rows of an endless array", list_file([sparse((2**62, 3))], ["arg:w"])),
    params("no numbers for an array", list_file([header(10**6, storage=1)], ["arg:w"])),
    params("a zip bomb", archive(("w.npy", npy("(2500000,)", size=10**7)))),
    params("a zip bomb that overlaps", overlapping(130), "overlap"),
    params("a zip bomb behind a small array", archive(("w.npy", npy("(3,)", size=10**7))), "unpacks to"),
    params("a zip bomb of 100 MB", archive(("w.npy", npy("(25000000,)", size=10**8))), "stored"),
    params("an entry that claims 4 GB", claimed(2**32 - 2)),
    params("an entry that claims less than it has", claimed(3)),
    params("an array that claims more than its entry", archive(("w.npy", npy("(1000000000000,)", size=12)))),
    params("a shape of 5,000 digits", archive(("w.npy", npy(f"({LONG},)", size=12)))),
    params("a shape of brackets", archive(("w.npy", npy("(" * 5000, size=12)))),
    params("a pickle", archive(("w.npy", npy("(1,)", "|O", size=12))), "'|O'"),
    params("an entry that leaves the folder", archive(("../w.npy", npy("(3,)", size=12)))),
    params("a header that is code", archive(("w.npy", npy("__import__('os').system('true')", size=12)))),
    params("a header that counts", archive(("w.npy", npy("(9**9**9,)", size=12)))),
)

ROWS = (*COUNTS, *FITTING, *ELEMENTS, *GROWTH, *TEXTS, *PARAMETERS)

__all__ = ["ROWS", "archive", "node", "npy", "symbol"]

"""ONNX models that ask for much: shapes, counts, tables, constants that grow."""

from __future__ import annotations

from typing import Any

from tests.attacks.attack import Attack
from tests.attacks.onnx_rows import model


def shaped(name: str, sizes: str, body: str, **more: Any) -> Attack:
    """Something made of a constant shape."""
    return model(
        name, f"g (float[3] x) => (float y) <int64[{sizes.count(',') + 1}] s = {{{sizes}}}> {{ {body} }}", **more
    )


BIG = "1000000000"
SUM = "y = ReduceSum<keepdims = 0>(z)"
ROWS = (
    shaped("ConstantOfShape", f"{BIG}, {BIG}", f"z = ConstantOfShape(s) {SUM}"),
    shaped("ConstantOfShape in MXNet", f"{BIG}, {BIG}", f"z = ConstantOfShape(s) {SUM}", target="result-symbol.json"),
    shaped(
        "ConstantOfShape beyond 63 bits of elements",
        "9223372036854775807, 9223372036854775807",
        f"z = ConstantOfShape(s) {SUM}",
    ),
    shaped("ConstantOfShape of less than nothing", "-5", f"z = ConstantOfShape(s) {SUM}"),
    shaped("Expand", f"{BIG}, 3", f"z = Expand(x, s) {SUM}"),
    shaped("Expand of a constant", f"{BIG}, 3", f"c = Constant<value = float[1] {{1}}>() z = Expand(c, s) {SUM}"),
    shaped(
        "Expand of a constant, in MXNet",
        f"{BIG}, 3",
        f"c = Constant<value = float[1] {{1}}>() z = Expand(c, s) {SUM}",
        target="result-symbol.json",
    ),
    shaped(
        "Expand to a hidden shape",
        f"{BIG}, 7",
        "f = Cast<to = 1>(s) h = Mul(f, f) q = Sqrt(h) w = Cast<to = 7>(q) "
        f"c = Constant<value = float[1] {{1}}>() z = Expand(c, w) {SUM}",
    ),
    shaped(
        "Expand to a hidden shape, in MXNet",
        f"{BIG}, 7",
        "f = Cast<to = 1>(s) h = Mul(f, f) q = Sqrt(h) w = Cast<to = 7>(q) "
        f"c = Constant<value = float[1] {{1}}>() z = Expand(c, w) {SUM}",
        target="result-symbol.json",
    ),
    shaped(
        "ConstantOfShape of a hidden shape",
        "100000, 100000",
        f"f = Cast<to = 1>(s) e = Log(f) q = Exp(e) r = Round(q) w = Cast<to = 7>(r) z = ConstantOfShape(w) {SUM}",
    ),
    shaped(
        "ConstantOfShape of a hidden shape, in MXNet",
        "100000, 100000",
        f"f = Cast<to = 1>(s) e = Log(f) q = Exp(e) r = Round(q) w = Cast<to = 7>(r) z = ConstantOfShape(w) {SUM}",
        target="result-symbol.json",
    ),
    shaped("Tile", "1000000000000", f"z = Tile(x, s) {SUM}"),
    shaped("Tile of a constant", "1000000000", f"c = Constant<value = float[1] {{1}}>() z = Tile(c, s) {SUM}"),
    shaped(
        "Tile of a constant, in MXNet",
        "1000000000",
        f"c = Constant<value = float[1] {{1}}>() z = Tile(c, s) {SUM}",
        target="result-symbol.json",
    ),
    shaped(
        "Tile of a constant, hidden",
        "1000000000",
        "f = Cast<to = 11>(s) q = Sqrt(f) h = Mul(q, q) r = Round(h) w = Cast<to = 7>(r) "
        f"c = Constant<value = float[1] {{1}}>() z = Tile(c, w) {SUM}",
    ),
    shaped(
        "Tile of a constant, hidden, in MXNet",
        "1000000000",
        "f = Cast<to = 11>(s) q = Sqrt(f) h = Mul(q, q) r = Round(h) w = Cast<to = 7>(r) "
        f"c = Constant<value = float[1] {{1}}>() z = Tile(c, w) {SUM}",
        target="result-symbol.json",
    ),
    shaped("Reshape", "0, -1, 1000000000000, 1000000000000", f"z = Reshape(x, s) {SUM}"),
    shaped("Pad", "1000000000000, 1000000000000", f"z = Pad(x, s) {SUM}"),
    shaped("Pad of a constant", f"{BIG}, {BIG}", f"c = Constant<value = float[1] {{1}}>() z = Pad(c, s) {SUM}"),
    shaped(
        "Pad of a constant, in MXNet",
        f"{BIG}, {BIG}",
        f"c = Constant<value = float[1] {{1}}>() z = Pad(c, s) {SUM}",
        target="result-symbol.json",
    ),
    shaped("Pad by less", "-1000000000000, -1000000000000", f"z = Pad(x, s) {SUM}"),
    model(
        "Range",
        "g (float[2] x) => (int64[k] y) <int64 a = {0}, int64 b = {1000000000000}, int64 c = {1}> { y = Range(a, b, "
        "c) }",
    ),
    model(
        "Range of floats",
        "g (float[2] x) => (float[k] y) <float a = {0}, float b = {1e30}, float c = {1e-30}> { y = Range(a, b, c) }",
    ),
    model(
        "Range of hidden floats",
        "g (float[2] x) => (float[k] y) <float a = {0}, float b = {20}, float c = {0.1}> "
        "{ e = Exp(b) y = Range(a, e, c) }",
    ),
    model(
        "Range of hidden floats, in MXNet",
        "g (float[2] x) => (float[k] y) <float a = {0}, float b = {20}, float c = {0.1}> "
        "{ e = Exp(b) y = Range(a, e, c) }",
        target="result-symbol.json",
    ),
    model(
        "OneHot",
        "g (int64[3] x) => (float[k, m] y) <int64 d = {1000000000000}, float[2] v = {0, 1}> { y = OneHot(x, d, v) }",
    ),
    model(
        "OneHot of a constant",
        "g (float[3] q) => (float[k, m] y) <int64[2] x = {1, 2}, int64 d = {1000000000}, float[2] v = {0, 1}> "
        "{ y = OneHot(x, d, v) }",
    ),
    model(
        "OneHot of a constant, in MXNet",
        "g (float[3] q) => (float[k, m] y) <int64[2] x = {1, 2}, int64 d = {1000000000}, float[2] v = {0, 1}> "
        "{ y = OneHot(x, d, v) }",
        target="result-symbol.json",
    ),
    model(
        "OneHot to MXNet",
        "g (int64[3] x) => (float[k, m] y) <int64 d = {2000000000}, float[2] v = {0, 1}> { y = OneHot(x, d, v) }",
        target="result-symbol.json",
    ),
    model(
        "EyeLike",
        "g (float[1000000000, 1000000000] x) => (float[k, m] y) { y = EyeLike(x) }",
        target="result-symbol.json",
    ),
    model("a window", "g (float[3] x) => (float[k] y) <int64 n = {1000000000000}> { y = HannWindow(n) }"),
    model(
        "a window in MXNet",
        "g (float[3] x) => (float[k] y) <int64 n = {1000000000}> { y = HannWindow(n) }",
        target="result-symbol.json",
    ),
    model(
        "a mel matrix",
        "g (float[3] x) => (float[k, m] y) <int64 n = {1000000}, int64 d = {1000000}, int64 r = {44100}, float l = "
        "{0}, "
        "float h = {8000}> { y = MelWeightMatrix(n, d, r, l, h) }",
    ),
    model(
        "a mel matrix in MXNet",
        "g (float[3] x) => (float[k, m] y) <int64 n = {100000}, int64 d = {1000000}, int64 r = {44100}, "
        "float l = {0}, float h = {8000}> { y = MelWeightMatrix(n, d, r, l, h) }",
        target="result-symbol.json",
    ),
    model(
        "a Fourier transform in MXNet",
        "g (float[1, 100000, 1] x) => (float[a, b, c] y) { y = DFT<axis = 1>(x) }",
        opset=17,
        target="result-symbol.json",
    ),
    model(
        "a Fourier transform of a length",
        "g (float[1, 10, 1] x) => (float[a, b, c] y) <int64 n = {1000000000}> { y = DFT<axis = 1>(x, n) }",
        opset=17,
        target="result-symbol.json",
    ),
    model(
        "a Fourier transform by frames",
        "g (float[1, 1000000, 1] x) => (float[a, b, c, d] y) <int64 n = {1}, int64 l = {100000}> "
        "{ y = STFT(x, n, , l) }",
        opset=17,
        target="result-symbol.json",
    ),
    model(
        "random numbers",
        "g (float[3] x) => (float y) { z = RandomNormal<shape = [1000000000, 1000000000]>() y = ReduceSum<keepdims "
        "= 0>(z) }",
    ),
    model("samples", "g (float[1, 3] x) => (int32[a, b] y) { y = Multinomial<sample_size = 9223372036854775807>(x) }"),
    model("Split", "g (float[4] x) => (float[k] a, float[m] b) { a, b = Split<num_outputs = 1000000000>(x) }"),
    model("Split of nothing", "g (float[4] x) => (float[k] a) { a = Split<num_outputs = 0>(x) }"),
    model(
        "DepthToSpace",
        "g (float[1, 4, 2, 2] x) => (float[a, b, c, d] y) { y = DepthToSpace<blocksize = 9223372036854775807>(x) }",
    ),
    model("SpaceToDepth", "g (float[1, 4, 2, 2] x) => (float[a, b, c, d] y) { y = SpaceToDepth<blocksize = 0>(x) }"),
    model(
        "Resize",
        "g (float[1, 1, 2, 2] x) => (float[a, b, c, d] y) <float[4] s = {1, 1, 1e30, 1e30}> { y = Resize(x, , s) }",
    ),
    model(
        "Resize to sizes",
        "g (float[1, 1, 2, 2] x) => (float[a, b, c, d] y) <int64[4] s = {1, 1, 9223372036854775807, 2}> "
        "{ y = Resize(x, , , s) }",
    ),
    model(
        "Resize to sizes in MXNet",
        "g (float[1, 1, 2, 2] x) => (float[a, b, c, d] y) <int64[4] s = {1, 1, 1000000000, 2}> "
        '{ y = Resize<mode = "cubic">(x, , , s) }',
        target="result-symbol.json",
    ),
    model(
        "Resize of a nan",
        "g (float[1, 1, 2, 2] x) => (float[a, b, c, d] y) <float[4] s = {1, 1, nan, inf}> { y = Resize(x, , s) }",
    ),
    model(
        "Conv pads",
        "g (float[1, 1, 8, 8] x) => (float[a, b, c, d] y) <float[1, 1, 3, 3] w> { y = Conv<pads = "
        "[9223372036854775807, "
        "9223372036854775807, 1, 1]>(x, w) }",
    ),
    model(
        "Conv dilations",
        "g (float[1, 1, 8, 8] x) => (float[a, b, c, d] y) <float[1, 1, 3, 3] w> { y = Conv<dilations = "
        "[9223372036854775807, 1]>(x, w) }",
    ),
    model(
        "Conv strides of 0",
        "g (float[1, 1, 8, 8] x) => (float[a, b, c, d] y) <float[1, 1, 3, 3] w> { y = Conv<strides = [0, 0]>(x, w) }",
    ),
    model(
        "Conv group",
        "g (float[1, 1, 8, 8] x) => (float[a, b, c, d] y) <float[1, 1, 3, 3] w> { y = Conv<group = "
        "9223372036854775807>(x, w) }",
    ),
    model(
        "AveragePool",
        "g (float[1, 1, 8, 8] x) => (float[a, b, c, d] y) { y = AveragePool<kernel_shape = [1000000000, 1000000000], "
        "pads "
        "= [1000000000, 1000000000, 1000000000, 1000000000]>(x) }",
    ),
    model(
        "AveragePool in MXNet",
        "g (float[1, 1, 8, 8] x) => (float[a, b, c, d] y) { y = AveragePool<kernel_shape = [100000, 100000], pads "
        "= [99999, 99999, 99999, 99999], dilations = [2, 2], ceil_mode = 1>(x) }",
        opset=19,
        target="result-symbol.json",
    ),
    model(
        "MaxPool indices in MXNet",
        "g (float[1, 1, 30000, 30000] x) => (float[a, b, c, d] y, int64[e, f, g, h] i) { y, i = MaxPool<"
        "kernel_shape = [100, 100]>(x) }",
        target="result-symbol.json",
    ),
    model(
        "MaxRoiPool",
        "g (float[1, 1, 8, 8] x, float[2, 5] r) => (float[a, b, c, d] y) { y = MaxRoiPool<pooled_shape = [1000000, "
        "1000000]>(x, r) }",
        target="result-symbol.json",
    ),
    model(
        "RoiAlign samples",
        "g (float[1, 1, 8, 8] x, float[2, 4] r, int64[2] b) => (float[a, c, d, e] y) { y = RoiAlign<output_height = "
        "100000, output_width = 100000, sampling_ratio = 100000>(x, r, b) }",
        target="result-symbol.json",
    ),
    model(
        "GRU",
        "g (float[2, 1, 3] x, float[1, 6, 3] w, float[1, 6, 2] r) => (float[a, b, c, d] y) { y = GRU<hidden_size = "
        "9223372036854775807>(x, w, r) }",
    ),
    model(
        "LSTM over a billion in MXNet",
        "g (float[1000000000, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (float[a, b, c, d] y) "
        '{ y = LSTM<hidden_size = 2, activations = ["Relu", "Tanh", "Tanh"]>(x, w, r) }',
        target="result-symbol.json",
    ),
    model(
        "TopK", "g (float[8] x) => (float[a] y, int64[b] i) <int64[1] k = {9223372036854775807}> { y, i = TopK(x, k) }"
    ),
    model(
        "CumSum in MXNet",
        "g (float[100000] x) => (float[100000] y) <int64 a = {0}> { y = CumSum(x, a) }",
        target="result-symbol.json",
    ),
    model(
        "Trilu in MXNet",
        "g (float[30000, 30000] x) => (float[30000, 30000] y) { y = Trilu(x) }",
        target="result-symbol.json",
    ),
    model(
        "attention in MXNet",
        "g (float[1, 2, 100000, 4] q, float[1, 2, 100000, 4] k) => (float[a, b, c, d] y) { y = Attention<is_causal "
        "= 1>(q, k, k) }",
        opset=23,
        target="result-symbol.json",
    ),
    model(
        "n-grams with gaps in MXNet",
        "g (int64[12] x) => (float[k] y) { y = TfIdfVectorizer<max_gram_length = 2, max_skip_count = 1000000000, "
        'min_gram_length = 2, mode = "TF", ngram_counts = [0, 0], ngram_indexes = [0], pool_int64s = [5, 6]>(x) }',
        target="result-symbol.json",
    ),
    model(
        "a mel matrix of many bands in MXNet",
        "g (float[3] x) => (float[k, m] y) <int64 n = {8000000}, int64 d = {1}, int64 r = {44100}, float l = {0}, "
        "float h = {8000}> { y = MelWeightMatrix(n, d, r, l, h) }",
        target="result-symbol.json",
    ),
    model(
        "MaxRoiPool of many cells",
        "g (float[1, 1, 8, 8] x, float[2, 5] r) => (float[a, b, c, d] y) { y = MaxRoiPool<pooled_shape = [1000000, "
        "1000000]>(x, r) }",
    ),
    model(
        "LinearAttention",
        "g (float[1, 2000000, 4] x) => (float[a, b, c] y, float[d, e, f, h] z) { y, z = LinearAttention<q_num_heads "
        "= 1, "
        'kv_num_heads = 1, update_rule = "linear">(x, x, x) }',
        opset=26,
        target="result-symbol.json",
    ),
    model(
        "Einsum of constants",
        "g (float[2] x) => (float y) <float a = {0}, float b = {2000}, float c = {1}> { r = Range(a, b, c) "
        'y = Einsum<equation = "a,b,c,d->">(r, r, r, r) }',
        target="result-symbol.json",
    ),
    model(
        "a Fourier transform of a constant",
        "g (float[2] x) => (float[a, b, c] y) <float a = {0}, float b = {65521}, float c = {1}, int64[3] s = {1, "
        "65521, 1}> "
        "{ r = Range(a, b, c) t = Reshape(r, s) y = DFT<axis = 1>(t) }",
        opset=17,
        target="result-symbol.json",
    ),
    model(
        "pooling of a constant",
        "g (float[2] x) => (float[a, b, c] y) <float a = {0}, float b = {65000}, float c = {1}, int64[3] s = {1, 1, "
        "65000}> "
        "{ r = Range(a, b, c) t = Reshape(r, s) y = AveragePool<kernel_shape = [65000], pads = [64999, 64999]>(t) }",
        target="result-symbol.json",
    ),
    model(
        "products of constants",
        "g (float[2] x) => (float[a, b] y) <float a = {0}, float b = {65000}, float c = {1}, int64[3] s = {1, 1, "
        "65000}, "
        "int64[3] t = {200, 1, 325}> { r = Range(a, b, c) p = Reshape(r, s) q = Reshape(r, t) "
        "y = Conv<pads = [65000, 65000]>(p, q) }",
        target="result-symbol.json",
    ),
    model(
        "n-grams in MXNet",
        "g (int64[12] x) => (float[k] y) { y = TfIdfVectorizer<max_gram_length = 1000000000, max_skip_count = "
        '1000000000, min_gram_length = 1, mode = "TF", ngram_counts = [0], ngram_indexes = [1000000000], '
        "pool_int64s = [5]>(x) }",
        target="result-symbol.json",
    ),
    model(
        "Col2Im",
        "g (float[1, 4, 4] x) => (float[a, b, c, d] y) <int64[2] s = {1000000000000, 2}, int64[2] b = {1000000, "
        "1000000}> "
        "{ y = Col2Im(x, s, b) }",
        target="result-symbol.json",
    ),
    model(
        "CenterCropPad",
        "g (float[3, 3] x) => (float[a, b] y) <int64[2] s = {1000000000000, 1000000000000}> { y = CenterCropPad(x, "
        "s) }",
    ),
    model(
        "Einsum",
        'g (float[9, 9] x) => (float y) { y = Einsum<equation = "'
        + "ab," * 200
        + 'ab->">('
        + ", ".join(["x"] * 201)
        + ") }",
        target="result-symbol.json",
    ),
    model(
        "AffineGrid",
        "g (float[1, 2, 3] x) => (float[a, b, c, d] y) <int64[4] s = {1, 1, 1000000, 1000000}> { y = AffineGrid(x, "
        "s) }",
        opset=20,
    ),
    model(
        "AffineGrid in MXNet",
        "g (float[1, 2, 3] x) => (float[a, b, c, d] y) <int64[4] s = {1, 1, 100000, 100000}> { y = AffineGrid(x, s) }",
        opset=20,
        target="result-symbol.json",
    ),
    model(
        "NonMaxSuppression in MXNet",
        "g (float[1, 100000, 4] b, float[1, 80, 100000] s) => (int64[k, 3] y) <int64 n = {9223372036854775807}> "
        "{ y = NonMaxSuppression(b, s, n) }",
        target="result-symbol.json",
    ),
)


__all__ = ["ROWS"]

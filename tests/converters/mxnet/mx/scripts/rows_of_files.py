"""Scripts with iterators over files, operators in Python, changes of colors, and cells of `gluon.contrib`, by name."""

# ruff: noqa: E501 - scripts are kept short, not narrow
from __future__ import annotations

SCRIPTS: dict[str, str] = {}


def script(name: str, source: str) -> None:
    assert name not in SCRIPTS
    SCRIPTS[name] = source


SHOW = """
import mxnet as mx
import numpy as np

def show(it, epochs=3):
    print(it.batch_size, it.provide_data, it.provide_label)
    for epoch in range(epochs):
        for b in it:
            x = b.data[0].asnumpy().astype('float64')
            print(epoch, x.shape, b.data[0].dtype.__name__, [[round(float(v), 3) for v in (r.sum(), r.std(), r.ravel()[0])] for r in x],
                  b.label[0].asnumpy().tolist(), b.pad, list(b.index))
        it.reset()
"""

RECORDS = {
    "plain": "data_shape=(3, 16, 20)",
    "index": "data_shape=(3, 16, 20), path_imgidx='train.idx', batch_size=2, num_parts=2, part_index=1",
    "part": "data_shape=(3, 16, 20), batch_size=1, num_parts=2, part_index=0",
    "normalized": "data_shape=(3, 16, 20), resize=18, mean_r=10, mean_g=20, mean_b=30, std_r=2, std_g=3, scale=0.5",
    "cubic": "data_shape=(3, 16, 20), resize=40, inter_method=2",
    "smaller": "data_shape=(3, 12, 14), resize=16, inter_method=9",
    "padded": "data_shape=(3, 24, 20), pad=4, fill_value=7",
    "too_small": "data_shape=(3, 64, 64)",
    "gray": "data_shape=(1, 20, 36), label_name='lab', data_name='d'",
}
for name, arguments in RECORDS.items():
    batch = "" if "batch_size" in arguments else ", batch_size=3"
    script(f"record_iter_{name}", f"""{SHOW}
show(mx.io.ImageRecordIter(path_imgrec='train.rec', preprocess_threads=1, {arguments}{batch}))
""")

script("record_iter_of_bytes", f"""{SHOW}
show(mx.io.ImageRecordUInt8Iter(path_imgrec='train.rec', data_shape=(3, 16, 20), batch_size=3, preprocess_threads=1))
""")

script("csv_iter", f"""{SHOW}
np.savetxt('d.csv', np.arange(20).reshape(5, 4), delimiter=',', fmt='%g')
np.savetxt('l.csv', np.arange(5), delimiter=',', fmt='%g')
show(mx.io.CSVIter(data_csv='d.csv', data_shape=(4,), label_csv='l.csv', batch_size=2))
show(mx.io.CSVIter(data_csv='d.csv', data_shape=(2, 2), batch_size=3, round_batch=False))
show(mx.io.CSVIter(data_csv='d.csv', data_shape=(4,), label_csv='d.csv', label_shape=(4,), batch_size=5, dtype='int32',
                   label_name='q', data_name='w'))
try: list(mx.io.CSVIter(data_csv='d.csv', data_shape=(4,), batch_size=11))
except mx.MXNetError as e: print('number of input must be bigger than batch size' in str(e))
""")

script("iterators_around", """
import mxnet as mx
import numpy as np

def made(**kw): return mx.io.NDArrayIter(np.arange(10).reshape(5, 2), np.arange(5), batch_size=2, **kw)
def shown(it): return [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in it]
for kw in (dict(size=4), dict(size=2, reset_internal=False)):
    it = mx.io.ResizeIter(made(), **kw)
    print(it.provide_data, it.provide_label, it.batch_size)
    for _ in range(2): print(shown(it)); it.reset()
it = mx.io.PrefetchingIter(made())
print(it.provide_data, it.provide_label, it.batch_size)
for _ in range(2): print(shown(it)); it.reset()
it = mx.io.PrefetchingIter([made(), made()], rename_data=[{'data': 'x'}, {'data': 'y'}], rename_label=[{'softmax_label': 'a'}, {'softmax_label': 'b'}])
print(it.provide_data, it.provide_label, [[x.asnumpy().tolist() for x in (*b.data, *b.label)] for b in it])
""")

script("module_scores_records", """
import mxnet as mx
import numpy as np
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=2, name='fc'), name='softmax')
it = mx.io.ImageRecordIter(path_imgrec='train.rec', data_shape=(3, 8, 8), batch_size=2, preprocess_threads=1, scale=1 / 255)
mod = mx.mod.Module(net)
mod.bind(it.provide_data, it.provide_label, for_training=False)
mod.set_params({'fc_weight': mx.nd.array(np.random.rand(2, 192) - 0.5), 'fc_bias': mx.nd.zeros(2)}, {})
print(mod.predict(it).asnumpy().round(4).tolist())
it.reset(); print(mod.score(it, 'acc'))
""")

CUSTOM = """
import mxnet as mx
import numpy as np

class Op(mx.operator.CustomOp):
    def __init__(self, k): self.k = k
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.k + in_data[1].asnumpy().sum())
        self.assign(out_data[1], req[1], mx.nd.array(in_data[0].asnumpy().argmax(1)))

@mx.operator.register('scaled')
class Prop(mx.operator.CustomOpProp):
    def __init__(self, k='2', more='()'):
        super().__init__(need_top_grad=False)
        self.k, self.more = float(k), eval(more)
    def list_arguments(self): return ['data', 'label'] + ['more%d' % i for i in self.more]
    def list_outputs(self): return ['output', 'place']
    def infer_shape(self, shapes): return [shapes[0], (shapes[0][0],)] + [shapes[0]] * len(self.more), [shapes[0], (shapes[0][0],)], []
    def create_operator(self, ctx, shapes, dtypes): return Op(self.k)

def fill(arrays):
    for name, x in arrays.items(): x[:] = np.cos(np.arange(x.size)).reshape(x.shape) / 3
"""
script("custom_in_a_symbol", f"""{CUSTOM}
fc = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=3, name='fc')
custom = mx.sym.Custom(fc, op_type='scaled', name='cu', k=3, more=(0, 1))
net = mx.sym.Group([mx.sym.softmax(custom[0], name='s'), mx.sym.Custom(data=custom[0] + 1, op_type='scaled', name='second')[1]])
print(net.list_arguments(), net.list_outputs(), net.get_internals().list_outputs(), net.list_auxiliary_states())
print(net.infer_shape(data=(2, 4)), net.infer_type(data='float32', second_label='float32', cu_label='float32', cu_more0='float32', cu_more1='float32'))
print(net.tojson() == mx.sym.load_json(net.tojson()).tojson(), sorted(net.attr_dict()['cu'].items()))
exe = net.simple_bind(mx.cpu(), data=(2, 4), grad_req='null')
fill(exe.arg_dict)
for _ in range(2):
    print([x.asnumpy().round(4).tolist() for x in exe.forward()])
    exe.arg_dict['data'][:] = -1
exe = net.bind(mx.cpu(), exe.arg_dict)
print([x.asnumpy().round(4).tolist() for x in exe.forward()])
""")

script("custom_in_a_module", f"""{CUSTOM}
net = mx.sym.Custom(data=mx.sym.Variable('data'), label=mx.sym.Variable('softmax_label'), op_type='scaled', name='cu')
mod = mx.mod.Module(net)
mod.bind([('data', (2, 3))], [('softmax_label', (2,))], for_training=False)
mod.init_params()
mod.forward(mx.io.DataBatch([mx.nd.array([[1, 2, 0], [3, 4, 9]])], [mx.nd.array([1, 2])]), is_train=False)
print([x.asnumpy().tolist() for x in mod.get_outputs()], mod.output_names, mod.output_shapes)
""")

script("custom_in_a_block", f"""{CUSTOM}
class Net(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope(): self.dense = mx.gluon.nn.Dense(3)
    def hybrid_forward(self, F, x, label): return F.Custom(self.dense(x), label, op_type='scaled', k=5)
net = Net(); net.initialize(mx.init.One())
x, label = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([1, 2])
print([y.asnumpy().tolist() for y in net(x, label)])
net.hybridize(); print([y.asnumpy().tolist() for y in net(x, label)])
class Two(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x): return F.split(x, num_outputs=2), [F.topk(x, ret_typ='both')]
net = Two(); net.hybridize(); print([[y.asnumpy().tolist() for y in ys] for ys in (net(x)[0], *net(x)[1])])
""")

CELLS = {
    **{f"Conv{axes}D{kind}Cell": (f"({', '.join(['2', *'567'[:axes]])}), 3, i2h_kernel=3, h2h_kernel=3, i2h_pad=1{more}", "2, " + ", ".join("567"[:axes]))
       for axes in (1, 2, 3) for kind, more in (("RNN", ", activation='relu'"), ("LSTM", ", h2h_dilate=2"), ("GRU", ""))},
    "LSTMPCell": ("4, 3", "5"),
}
for name, (arguments, sizes) in CELLS.items():
    script(f"cell_{name}", f"""
import mxnet as mx
import numpy as np
from mxnet.gluon.contrib import rnn
cell = rnn.{name}({arguments}, prefix='c_')
cell.initialize(mx.init.Uniform(0.1))
x = [mx.nd.array(np.cos(np.arange(2 * np.prod(({sizes},)))).reshape(2, {sizes}) + step) for step in range(3)]
cell(x[0], cell.begin_state(2))
for key, p in cell.collect_params().items():
    print(key, p.shape); p.set_data(mx.nd.array(np.sin(np.arange(np.prod(p.shape))).reshape(p.shape) / 3))
print(cell, cell.state_info(2))
outputs, states = cell.unroll(3, x, merge_outputs=False)
print([float(y.asnumpy().astype('float64').std().round(4)) for y in (*outputs, *states)], outputs[2].asnumpy().ravel()[:4].round(4).tolist())
cell.hybridize(); cell.reset()
print(cell(x[1], states)[0].asnumpy().ravel()[:4].round(4).tolist())
out, _ = cell.unroll(2, [mx.sym.var('a'), mx.sym.var('b')], begin_state=[mx.sym.var('s%d' % i) for i in range(len(states))])
print(mx.sym.Group(list(out)).get_internals().list_outputs())
""")

script("variational_dropout_cell", """
import mxnet as mx
import numpy as np
from mxnet.gluon.contrib.rnn.rnn_cell import VariationalDropoutCell
x = mx.nd.array(np.cos(np.arange(24)).reshape(2, 3, 4))
for rates in (dict(drop_states=0.5), dict(drop_inputs=0.3, drop_outputs=0.2), {}):
    cell = VariationalDropoutCell(mx.gluon.rnn.GRUCell(3, prefix='g_'), **rates)
    cell.initialize(mx.init.One())
    for kw in ({}, dict(valid_length=mx.nd.array([1, 3])), dict(merge_outputs=False)):
        y, states = cell.unroll(3, x, **kw)
        print(cell, [v.asnumpy().round(4).tolist() for v in (y if isinstance(y, list) else [y])], states[0].asnumpy().round(4).tolist())
""")

for kind in ("DeformableConvolution", "ModulatedDeformableConvolution"):
    script(f"gluon_{kind}", f"""
import mxnet as mx
import numpy as np
from mxnet.gluon.contrib.cnn import {kind}
x = mx.nd.array(np.cos(np.arange(2 * 4 * 7 * 8)).reshape(2, 4, 7, 8))
for kw in (dict(kernel_size=3, padding=1, in_channels=4), dict(kernel_size=(3, 2), strides=2, groups=2, num_deformable_group=2, use_bias=False, activation='relu', in_channels=4),
           dict(kernel_size=3, offset_use_bias=False, dilation=2, padding=2)):
    net = {kind}(4, prefix='d_', **kw)
    net.initialize(); net(x)
    for key, p in net.collect_params().items():
        print(key, p.shape); p.set_data(mx.nd.array(np.sin(np.arange(np.prod(p.shape))).reshape(p.shape) / 3))
    y = net(x).asnumpy(); net.hybridize(); z = net(x).asnumpy()
    print(y.shape, y[:, :, 2, 1].round(3).tolist(), bool(abs(y - z).max() < 1e-5))
""")

script("color_augmenters", """
import mxnet as mx
import numpy as np
img = mx.image.imread('smooth.png').astype('float32')
for aug in (mx.image.BrightnessJitterAug(0.4), mx.image.ContrastJitterAug(0.3), mx.image.SaturationJitterAug(0.3), mx.image.HueJitterAug(0.4),
            mx.image.ColorJitterAug(0.1, 0.2, 0.3), mx.image.LightingAug(0.5, np.array([55.46, 4.794, 1.148]), np.eye(3)), mx.image.RandomGrayAug(0.9)):
    print(aug.dumps(), aug(img.copy()).asnumpy().astype('float64').mean((0, 1)).round(2).tolist())
augs = mx.image.CreateAugmenter((3, 20, 24), resize=26, rand_crop=True, rand_mirror=True, brightness=0.2, contrast=0.3, saturation=0.1, hue=0.2, pca_noise=0.3, rand_gray=0.2, mean=True)
print([type(a).__name__ for a in augs])
for a in augs: img = a(img)
print(img.shape, img.asnumpy().astype('float64').mean((0, 1)).round(1).tolist())
""")

script("imrotate", """
import mxnet as mx
import numpy as np
x = mx.image.imread('smooth.png').astype('float32').transpose((2, 0, 1))
for kw in ({}, dict(zoom_in=True), dict(zoom_out=True)):
    for degrees in (0, 30, -75.5):
        y = mx.image.imrotate(x, degrees, **kw).asnumpy().astype('float64')
        print(y.shape, y.mean((1, 2)).round(1).tolist(), y[0, 16, ::12].round(1).tolist())
    y = mx.image.imrotate(mx.nd.stack(x, x), mx.nd.array([10, 80]), **kw).asnumpy().astype('float64')
    print(y.shape, y.mean((1, 2, 3)).round(1).tolist())
print(mx.image.random_rotate(x, (10, 20)).asnumpy().astype('float64').mean((1, 2)).round(1).tolist())
for bad in (lambda: mx.image.imrotate(x, 3, True, True), lambda: mx.image.imrotate(x.astype('uint8'), 3), lambda: mx.image.imrotate(x, mx.nd.array([1])), lambda: mx.image.imrotate(x[0], 1)):
    try: bad()
    except (TypeError, ValueError) as e: print(type(e).__name__, str(e)[:30])
""")

script("old_paths_of_onnx", """
from mxnet.contrib.onnx.onnx2mx.import_model import import_model
import mxnet.contrib.onnx.onnx2mx
print(import_model.__name__, mxnet.contrib.onnx.onnx2mx.import_model.__name__.rpartition('.')[2])
""")

script("sparse_arrays", """
import mxnet as mx, numpy as np
a=mx.nd.sparse.csr_matrix(([1,2,0,3],[0,2,1,1],[0,2,3,4]),shape=(3,4))
print(type(a).__name__, a.stype, a.shape, a.dtype.__name__, a.asnumpy().tolist(), a.data.asnumpy().tolist(), a.indices.asnumpy().tolist(), a.indices.dtype.__name__, a.indptr.asnumpy().tolist(), a.indptr.dtype.__name__)
b=mx.nd.sparse.csr_matrix(np.array([[0,1,0],[2,0,3]])); print(b.dtype.__name__, b.data.asnumpy().tolist(), b)
print(b.tostype('default').stype, b.tostype('csr').stype, mx.nd.array(b).stype, b.copy().stype, b.astype('int32').stype,b.astype('int32').dtype.__name__)
c=mx.nd.array([[0,5,0],[0,0,0],[1,2,3]]).tostype('row_sparse'); print(type(c).__name__, c.stype, c.indices.asnumpy().tolist(), c.data.asnumpy().tolist(), c)
r=mx.nd.sparse.row_sparse_array((np.ones((2,3)),[0,4]),shape=(6,3)); print(r.shape, r.asnumpy().tolist(), r.indices.asnumpy().tolist())
z=mx.nd.sparse.zeros('csr',(2,3)); print(z.stype, z.asnumpy().tolist(), z.indices.shape, mx.nd.zeros((2,2),stype='row_sparse').stype)
print(mx.nd.dot(a, mx.nd.arange(8).reshape((4, 2))).asnumpy().tolist(), mx.nd.sparse.dot(a, mx.nd.ones((4,1))).stype)
print(mx.nd.sparse.dot(a, mx.nd.ones((3,2)), transpose_a=True).asnumpy().tolist())
print(a[1:3].stype, a[1:3].asnumpy().tolist(), a[0].asnumpy().tolist(), a[0].shape)
print((a*2).asnumpy().tolist(), (a+a).asnumpy().tolist(), mx.nd.sparse.sum(a,axis=1).asnumpy().tolist(), mx.nd.sum(a).asnumpy().tolist())
import scipy.sparse as sp
s=sp.csr_matrix(np.eye(3)); d=mx.nd.sparse.csr_matrix(s); print(d.dtype.__name__, d.asnumpy().tolist(), type(a.asscipy()).__name__, mx.nd.sparse.array(s).stype)
print(mx.nd.cast_storage(mx.nd.array([[1,0]]),'csr').stype, mx.nd.sparse.retain(r, mx.nd.array([4])).asnumpy().tolist())
print(isinstance(a, mx.nd.NDArray), isinstance(a, mx.nd.sparse.CSRNDArray), isinstance(r, mx.nd.sparse.BaseSparseNDArray), mx.nd.sparse.RowSparseNDArray.__name__)
print(a.asnumpy().sum(), mx.nd.sparse.square(a).asnumpy().tolist(), len(a))
x=mx.nd.sparse.csr_matrix((2,3)); print(x.shape, x.asnumpy().tolist())
""")

script("libsvm_iter", """
import mxnet as mx
open('s.txt','w').write('1 0:1.5 3:2\\n0 1:4\\n2 2:3 3:1\\n')
for kw in ({}, dict(label_libsvm='s.txt', label_shape=(4,))):
    it=mx.io.LibSVMIter(data_libsvm='s.txt', data_shape=(4,), batch_size=2, **kw)
    print(it.provide_data,it.provide_label)
    for e in range(3):
        for b in it: x = b.data[0]; print(x.stype, x.asnumpy().tolist(), x.indices.asnumpy().tolist(), x.indptr.asnumpy().tolist(), x.data.asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad, b.index.tolist())
        it.reset()
""")

script("pcc_and_sdml", """
import mxnet as mx
import numpy as np
metric = mx.metric.create('pcc')
for classes in (2, 4, 3):
    metric.update([mx.nd.array(np.arange(12) % classes)], [mx.nd.array(np.random.rand(12, classes) + np.eye(classes)[np.arange(12) % classes] / 2)])
    print(metric.get()[0], round(metric.get()[1], 5))
metric.reset(); metric.update([mx.nd.zeros(3)], [mx.nd.zeros(3)]); print(metric.get())
x, y = mx.nd.array(np.random.rand(4, 6)), mx.nd.array(np.random.rand(4, 6))
for loss in (mx.gluon.loss.SDMLLoss(), mx.gluon.loss.SDMLLoss(smoothing_parameter=0.1)): print(loss, loss(x, y).asnumpy().round(5).tolist())
""")

script("own_dataset_and_cleared_block", """
import mxnet as mx
import numpy as np
class Own(mx.gluon.data.dataset._DownloadedDataset):
    def __init__(self, root='.', transform=None): super().__init__(root, transform)
    def _get_data(self): self._data, self._label = mx.nd.arange(6).reshape((3, 2)), np.arange(3)
for data in (Own(), Own(transform=lambda x, y: (x * 2, y + 1))): print(len(data), [(x.asnumpy().tolist(), int(y)) for x, y in (data[i] for i in range(3))])
class Net(mx.gluon.HybridBlock):
    factor = 2
    def hybrid_forward(self, F, x): return x * self.factor
net = Net(); net.hybridize(); print(net(mx.nd.ones(2)).asnumpy().tolist())
net.factor = 3; print(net(mx.nd.ones(2)).asnumpy().tolist())
net._clear_cached_op(); print(net(mx.nd.ones(2)).asnumpy().tolist())
""")

script("transforms_of_color", """
import random
import mxnet as mx
import numpy as np
from mxnet.gluon.data.vision import transforms as T
image = mx.image.imread('smooth.png')
for dtype in ('uint8', 'float32'):
    x = image.astype(dtype)
    for kind in (T.RandomBrightness, T.RandomContrast, T.RandomSaturation, T.RandomHue):
        for factor in (0.13, 0.7, 1, 1.4):
            t = kind(0); t._args = factor, factor
            y = t(x).asnumpy().astype('float64'); print(kind.__name__, factor, t(x).dtype.__name__, y.shape, y.mean((0, 1)).round(1).tolist(), [] if kind is T.RandomHue and dtype == 'uint8' else y[3, ::9].round(1).tolist())
    print((T.RandomLighting(0)(x) - x).asnumpy().any(), T.RandomColorJitter(1e-9, 1e-9, 1e-9)(x.astype('float32')).asnumpy().astype('float64').mean((0, 1)).round(1).tolist())
flat = mx.nd.ones((4, 4, 3)) * mx.nd.array([90, 100, 110])
for t, low, high in ((T.RandomBrightness(0.3), 0.7, 1.3), (T.RandomColorJitter(brightness=0.3), 0.7, 1.3), (T.RandomBrightness(2), 0, 3)):
    draws = np.array([float((t(flat) / flat).asnumpy().mean()) for _ in range(400)])
    print(draws.min() >= low - 1e-5, draws.max() <= high + 1e-5, draws.min() < low + 0.1 * (high - low), draws.max() > high - 0.1 * (high - low))
noise = np.array([(T.RandomLighting(0.5)(flat) - flat).asnumpy()[0, 0] for _ in range(2000)]).astype('float64')
wanted = np.array([15.88, 16.11, 16.26])
print(bool((abs(noise.std(0) / wanted - 1) < 0.1).all()), bool((abs(noise.mean(0)) < 2).all()), np.corrcoef(noise.T).min() > 0.95)
""")

script("path_of_im2rec", """
import os
import mxnet as mx
os.makedirs('home/tools', exist_ok=True); open('home/tools/im2rec.py', 'w').close()
os.environ['MXNET_HOME'] = 'home'; print(mx.test_utils.get_im2rec_path())
os.makedirs('home/python/mxnet', exist_ok=True); os.environ['OTHER'] = 'home/python/mxnet'; print(mx.test_utils.get_im2rec_path('OTHER'))
os.environ['MXNET_HOME'] = 'nowhere'
try: mx.test_utils.get_im2rec_path()
except OSError as e: print(type(e).__name__, e)
finally: del os.environ['MXNET_HOME']
""")


BOXES = """
import random
import mxnet as mx
import numpy as np
from PIL import Image

rng = np.random.RandomState(5)
items = []
for i, (h, w) in enumerate([(40, 60), (64, 48), (50, 50), (33, 71), (80, 40)]):
    pixels = np.kron(rng.randint(0, 255, (h // 8 + 1, w // 8 + 1, 3)), np.ones((8, 8, 1)))[:h, :w].astype('uint8')
    Image.fromarray(pixels).save('box%d.png' % i)
    boxes = [[k % 3, *sorted(rng.uniform(0, 1, 4)[:2].tolist()), *sorted(rng.uniform(0, 1, 2).tolist())] for k in range(i % 3 + 1)]
    boxes = [[c, x0, y0, x1, y1] for c, x0, x1, y0, y1 in boxes]
    items.append([[4, 5, h, w, *np.ravel(boxes).tolist()], 'box%d.png' % i])

def show(it, epochs=2):
    print(it.provide_data, it.provide_label)
    for epoch in range(epochs):
        for b in it:
            x = b.data[0].asnumpy().astype('float64')
            print(epoch, x.shape, b.pad, [[round(float(v), 2) for v in (r.mean(), r.std(), r.ravel()[0])] for r in x], b.label[0].asnumpy().round(5).tolist())
        it.reset()

def iterator(**kw):
    kw = {'batch_size': 2, 'data_shape': (3, 32, 48), 'imglist': [list(i) for i in items], 'path_root': '.', **kw}
    return mx.image.ImageDetIter(**kw)
"""
DETECTION = {
    "plain": "",
    "shuffled": "shuffle=True, last_batch_handle='discard'",
    "rolled_over": "last_batch_handle='roll_over', batch_size=3",
    "mirrored": "rand_mirror=True, mean=True, std=True, inter_method=1",
    "cropped": "rand_crop=1, min_object_covered=0.3, area_range=(0.2, 0.9), inter_method=0",
    "cropped_by_one_of_several": "rand_crop=0.8, min_object_covered=[0.1, 0.5, 0.9], area_range=[(0.1, 1.0), (0.2, 1.0), (0.5, 1.0)], inter_method=1",
    "padded": "rand_pad=1, area_range=(0.5, 2.5), pad_val=(1, 2, 3), inter_method=1",
    "all": "resize=40, rand_crop=0.5, rand_pad=0.5, rand_mirror=True, rand_gray=0.3, brightness=0.1, contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1, mean=True, inter_method=10",
}
for name, arguments in DETECTION.items():
    script(f"detection_iter_{name}", f"""{BOXES}
show(iterator({arguments}))
""")

script("detection_augmenters", f"""{BOXES}
image = mx.image.imread('box0.png')
boxes = np.array([[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.1, 0.9, 0.95]], 'float32')
for aug in (mx.image.DetHorizontalFlipAug(1), mx.image.det.DetRandomCropAug(0.2, 1.0, (0.3, 0.8)), mx.image.DetRandomPadAug((0.8, 1.2), (1.5, 3.0)),
            mx.image.DetBorrowAug(mx.image.ResizeAug(20)), mx.image.DetRandomSelectAug([], 0.1), mx.image.detection.CreateMultiRandCropAugmenter([0.1, 0.9], skip_prob=0.2)):
    for _ in range(3):
        out, label = aug(image, boxes.copy())
        print(out.shape, round(float(out.asnumpy().mean()), 3), label.round(5).tolist())
    print(aug.dumps())
print([a.dumps() for a in mx.image.CreateDetAugmenter((3, 8, 8), rand_crop=1, rand_pad=1, mean=True)])
for wrong in (lambda: mx.image.DetBorrowAug(3), lambda: mx.image.DetRandomSelectAug([mx.image.CastAug()])):
    try: wrong()
    except Exception as e: print(type(e).__name__, e)
""")

script("detection_shapes", f"""{BOXES}
a, b = iterator(), iterator(imglist=[list(i) for i in items[:1]], label_name='boxes')
print(a.label_shape, b.label_shape, b.sync_label_shape(a) is a, b.label_shape, b.provide_label)
a.reshape(data_shape=(3, 32, 48), label_shape=(6, 5))
show(a, 1)
for wrong in (lambda: a.reshape(label_shape=(1, 5)), lambda: a.reshape(label_shape=(7, 6)), lambda: a.reshape(data_shape=(1, 2, 2)), lambda: a.check_label_shape((3,))):
    try: wrong()
    except ValueError as e: print(e)
broken = [list(i) for i in items] + [[[2, 5, 0, 0.5, 0.5, 0.5, 0.9], 'box0.png']]
try: iterator(imglist=broken)
except RuntimeError as e: print(e)
""")

script("images_that_fill_the_last_batch", """
import mxnet as mx
import numpy as np
from PIL import Image
for i in range(5): Image.fromarray(np.full((8, 8, 3), 10 * i + 1, 'uint8')).save('fill%d.png' % i)
for how in ('pad', 'discard', 'roll_over'):
    it = mx.image.ImageIter(2, (3, 8, 8), imglist=[[i, 'fill%d.png' % i] for i in range(5)], path_root='.', last_batch_handle=how)
    for _ in range(3):
        print(how, [(b.data[0][:, 0, 0, 0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in it])
        it.reset()
    it.hard_reset()
    print([b.pad for b in it])
""")

script("images_turned_over", """
import mxnet as mx
import numpy as np
from mxnet.gluon.data.vision import transforms as T
x = mx.nd.array(np.arange(24).reshape(2, 4, 3), dtype='uint8')
seen = set()
for _ in range(60):
    y, z = mx.nd.image.random_flip_left_right(x), mx.nd.image.random_flip_top_bottom(x)
    seen.add((y.shape, y.dtype.__name__, int(y[0, 0, 0].asscalar()), int(z[0, 0, 0].asscalar())))
print(sorted(seen))
t = T.Compose([T.Resize(8), T.RandomFlipLeftRight(), T.RandomFlipTopBottom(), T.ToTensor(), T.Normalize(0.1, 0.2)])
v = mx.nd.array(np.random.randint(0, 255, (20, 24, 3)), dtype='uint8')
print(sorted({round(float(t(v).asnumpy()[0, 0, 0]), 3) for _ in range(80)}))
flip = T.RandomFlipLeftRight()
flip.hybridize()
print(sorted({int(flip(x)[0, 0, 0].asscalar()) for _ in range(40)}))
""")

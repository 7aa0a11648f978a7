"""The scripts, by name. They run in a folder that `files.write_files` fills; numbers are rounded where they print."""

# ruff: noqa: E501 - scripts are kept short, not narrow
from __future__ import annotations

SCRIPTS: dict[str, str] = {}


def script(name: str, source: str) -> None:
    assert name not in SCRIPTS
    SCRIPTS[name] = source


MODULE = """
import mxnet as mx, numpy as np
from collections import namedtuple
sym, arg_params, aux_params = mx.model.load_checkpoint('digits', 20)
rows = np.load('rows.npy').astype('float32')
"""
script("feed_forward", """
import mxnet as mx, numpy as np
model = mx.model.FeedForward.load('digits', 20, ctx=mx.cpu())
prob = model.predict(np.load('rows.npy').astype('float32'))
print(prob.shape, prob.argmax(axis=1).tolist(), prob.max(axis=1).round(3).tolist())
""")
script("module_batch", MODULE + """
Batch = namedtuple('Batch', ['data'])
mod = mx.mod.Module(symbol=sym, context=mx.cpu(), label_names=None)
mod.bind(for_training=False, data_shapes=[('data', (1, 1, 8, 8))], label_shapes=mod._label_shapes)
mod.set_params(arg_params, aux_params, allow_missing=True)
mod.forward(Batch([mx.nd.array(rows[:1])]))
prob = np.squeeze(mod.get_outputs()[0].asnumpy())
print(np.argsort(prob)[::-1][:3].tolist(), prob.max().round(3))
""")
script("module_predict", MODULE + """
data = mx.io.NDArrayIter(rows, batch_size=4)
mod = mx.mod.Module(sym, label_names=None)
mod.bind(data.provide_data, for_training=False)
mod.set_params(arg_params, aux_params, allow_missing=True)
out = mod.predict(data)
print(out.shape, out.argmax(axis=1).asnumpy().tolist())
""")
script("module_score_callback", MODULE + """
labels = np.arange(10) % 10
it = mx.io.NDArrayIter(rows, labels, batch_size=5)
mod = mx.mod.Module(sym)
mod.bind(it.provide_data, it.provide_label, for_training=False)
mod.set_params(arg_params, aux_params)
seen = []
print(mod.score(it, ['acc', 'ce'], batch_end_callback=[lambda p: seen.append((p.epoch, p.nbatch)), mx.callback.Speedometer(5, 1)]))
print(seen)
p = mx.model.BatchEndParam(epoch=1, nbatch=2, eval_metric=None, locals=None); print(p.epoch, p.nbatch)
""")
script("internals", MODULE + """
internals = sym.get_internals()
print(internals.list_outputs()[-4:])
fea = internals['fc2_output']
mod = mx.mod.Module(fea, label_names=None)
mod.bind(for_training=False, data_shapes=[('data', (2, 1, 8, 8))])
mod.set_params(arg_params, aux_params, allow_missing=True, allow_extra=True)
mod.forward(mx.io.DataBatch([mx.nd.array(rows[:2])]))
print(mod.get_outputs()[0].shape, float(mod.get_outputs()[0].asnumpy().sum().round(2)))
""")
script("simple_bind", MODULE + """
exe = sym.simple_bind(ctx=mx.cpu(), data=(3, 1, 8, 8), grad_req='null')
exe.copy_params_from(arg_params, aux_params)
exe.arg_dict['data'][:] = rows[:3]
print(exe.forward(is_train=False)[0].asnumpy().argmax(1).tolist())
""")
script("params_by_hand", """
import mxnet as mx
save_dict = mx.nd.load('digits-0020.params')
arg, aux = {}, {}
for k, v in save_dict.items():
    tp, name = k.split(':', 1)
    (arg if tp == 'arg' else aux)[name] = v
print(sorted((k, v.shape) for k, v in arg.items()), sorted(aux))
""")
script("submodules", """
import mxnet.gluon.nn as nn
from mxnet.gluon.block import HybridBlock
from mxnet.gluon.parameter import ParameterDict
from mxnet import nd, sym, gluon, autograd
from mxnet.ndarray.ndarray import NDArray
import mxnet.symbol.symbol, mxnet.io.io, mxnet.module.base_module, mxnet.gluon.rnn.rnn_cell, mxnet.base
from mxnet.base import MXNetError, string_types, numeric_types, mx_real_t
from mxnet.gluon.data.dataloader import default_batchify_fn
from mxnet.io import io as inner
print(issubclass(nn.Dense, HybridBlock), isinstance(nd.ones(1), NDArray), nn.Dense(2, prefix='a_').collect_params().keys())
print(isinstance('a', string_types), isinstance(1.5, numeric_types), inner.DataBatch.__name__)
""")
script("training_names_import", """
import mxnet as mx
from mxnet import lr_scheduler, optimizer
from mxnet.optimizer import Optimizer
from mxnet.gluon import Trainer
from mxnet.contrib import amp, quantization
import mxnet.kvstore
class Own(Optimizer):
    pass
print(Own.__name__, mx.kv is mxnet.kvstore, optimizer is mx.optimizer)
""")
script("gluon_mlp", """
import mxnet as mx
from mxnet.gluon import nn
net = nn.HybridSequential(prefix='mlp_')
with net.name_scope():
    net.add(nn.Dense(8, activation='relu'), nn.BatchNorm(), nn.Dense(3))
net.initialize(mx.init.One()); net.hybridize()
print(net(mx.nd.arange(10).reshape((2, 5))).asnumpy().round(3).tolist())
print(list(net.collect_params().keys()))
net.export('mlp', 3)
again = mx.gluon.SymbolBlock.imports('mlp-symbol.json', ['data'], 'mlp-0003.params')
print(again(mx.nd.ones((1, 5))).asnumpy().round(3).tolist())
""")
script("gluon_custom_block", """
import mxnet as mx
from mxnet import gluon
class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super(Net, self).__init__(**kwargs)
        with self.name_scope():
            self.conv = gluon.nn.Conv2D(4, 3, padding=1)
            self.fc = gluon.nn.Dense(2)
            self.scale = self.params.get('scale', shape=(1,), init=mx.init.Constant(2))
    def hybrid_forward(self, F, x, scale):
        x = F.relu(self.conv(x))
        return F.broadcast_mul(self.fc(F.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type='max')), scale)
net = Net(prefix='net_'); net.initialize(mx.init.Constant(0.1))
print(net(mx.nd.ones((1, 3, 8, 8))).asnumpy().round(3).tolist(), net.collect_params())
""")
for name in ("squeezenet1.1", "mobilenet0.25", "resnet18_v2", "mobilenetv2_0.25"):
    script(f"model_zoo_{name}", f"""
import mxnet as mx, numpy as np
from mxnet.gluon.model_zoo import vision
net = vision.get_model('{name}', classes=5, prefix='n_')
net.initialize(mx.init.Zero())
x = mx.nd.zeros((1, 3, 224, 224)); net.hybridize(); net(x)
r = np.random.RandomState(0)
for k, p in net.collect_params().items():
    p.set_data(mx.nd.array(r.uniform(-.1, .2, p.shape)))
y = net(mx.nd.array(r.rand(1, 3, 224, 224))).asnumpy()
print(list(net.collect_params())[:9], y.shape, (y / abs(y).max()).round(3).tolist())
""")
script("model_zoo_functions", """
from mxnet.gluon.model_zoo import vision
for f in (vision.resnet50_v1, vision.vgg11_bn, vision.densenet121, vision.alexnet, vision.squeezenet1_0):
    net = f(classes=3, prefix='m_')
    print(len(list(net.collect_params())), list(net.collect_params())[-3:], type(net).__name__)
try: vision.get_model('nothing')
except ValueError as error: print(str(error)[:40])
""")
IMAGE = """
import mxnet as mx, numpy as np
img = mx.image.imread('smooth.png')
"""
script("image_read", IMAGE + """
print(img.shape, img.dtype.__name__, img[3, 4].asnumpy().tolist(), int(img.asnumpy().astype('int64').sum()))
raw = open('smooth.png', 'rb').read()
for flag in (0, 1):
    for to_rgb in (0, 1):
        x = mx.image.imdecode(raw, flag=flag, to_rgb=to_rgb)
        print(flag, to_rgb, x.shape, int(x.asnumpy().astype('int64').sum()), x[9, 9].asnumpy().tolist())
print(mx.img.imdecode(bytearray(raw)).shape)
""")
script("image_read_jpeg", """
import mxnet as mx, numpy as np
for flag in (0, 1):
    x = mx.image.imread('smooth.jpg', flag=flag).asnumpy().astype('int64')
    print(flag, x.shape, int(x.sum()), x[11, 7].tolist())
""")
script("image_alpha_and_gray", """
import mxnet as mx
for name in ('gray.png', 'alpha.png', 'palette.png'):
    x = mx.image.imread(name); print(name, x.shape, int(x.asnumpy().astype('int64').sum()))
    x = mx.image.imread(name, flag=0); print(name, x.shape, int(x.asnumpy().astype('int64').sum()))
""")
script("image_bad", """
import mxnet as mx
for what in (b'', b'no image'):
    try: print(mx.image.imdecode(what).asnumpy())
    except Exception as error: print(isinstance(error, mx.base.MXNetError))
""")
for interp in range(5):
    script(f"image_resize_{interp}", IMAGE + f"""
for w, h in ((20, 17), (61, 90), (24, 16), (48, 33)):
    x = mx.image.imresize(img, w, h, interp={interp}).asnumpy().astype('int64')
    print(x.shape, int(x.sum()), int((x * np.arange(x.size).reshape(x.shape) % 251).sum()))
""")
script("image_crops", IMAGE + """
short = mx.image.resize_short(img, 24)
print(short.shape, int(short.asnumpy().astype('int64').sum()))
for size in ((16, 16), (20, 31), (60, 60)):
    x, box = mx.image.center_crop(img, size); print(x.shape, box, int(x.asnumpy().astype('int64').sum()))
x = mx.image.fixed_crop(img, 3, 4, 20, 10, (10, 10), 9); print(x.shape, int(x.asnumpy().astype('int64').sum()))
x, box = mx.image.random_crop(img, (16, 16)); print(x.shape, box)
x, box = mx.image.random_size_crop(img, (16, 16), 0.3, (.75, 1.3)); print(x.shape, box)
print(mx.image.scale_down((640, 480), (720, 120)), mx.image.scale_down((360, 1000), (480, 500)))
""")
script("image_border", IMAGE + """
for kind in range(5):
    x = mx.image.copyMakeBorder(img, 1, 2, 3, 4, type=kind); print(x.shape, int(x.asnumpy().astype('int64').sum()))
""")
script("image_normalize", IMAGE + """
x = mx.image.color_normalize(img.astype('float32') / 255, mx.nd.array([0.485, 0.456, 0.406]), mx.nd.array([0.229, 0.224, 0.225]))
x = x.transpose((2, 0, 1)).expand_dims(axis=0)
print(x.shape, x.asnumpy().sum().round(1), x.asnumpy()[0, :, 3, 4].round(4).tolist())
""")
script("image_augmenters", IMAGE + """
augs = mx.image.CreateAugmenter((3, 20, 20), resize=24, mean=True, std=True)
print([type(a).__name__ for a in augs], augs[0].dumps())
x = img
for aug in augs: x = aug(x)
print(x.shape, x.dtype.__name__, x.asnumpy().sum().round(0))
x = mx.image.SequentialAug([mx.image.ForceResizeAug((9, 8)), mx.image.HorizontalFlipAug(1.0), mx.image.CastAug()])(img)
print(x.shape, x.asnumpy()[0, 0].round(0).tolist())
""")
script("image_iter_list", """
import mxnet as mx
it = mx.image.ImageIter(batch_size=3, data_shape=(3, 16, 16), path_root='folder', imglist=[[0, 'a/0.png'], [1, 'b/1.png'], [1, 'b/2.png'], [0, 'a/3.png']], resize=18)
print(it.provide_data, it.provide_label)
for batch in it: print(batch.data[0].shape, batch.label[0].asnumpy()[:3 - batch.pad].tolist(), batch.pad, batch.data[0].asnumpy()[:3 - batch.pad].sum().round(0))
""")
script("image_iter_records", """
import mxnet as mx
it = mx.image.ImageIter(2, (3, 12, 12), path_imgrec='train.rec', path_imgidx='train.idx', last_batch_handle='discard')
for epoch in range(2):
    it.reset()
    print([b.label[0].asnumpy().tolist() for b in it])
it = mx.image.ImageIter(2, (3, 12, 12), path_imgrec='train.rec', aug_list=[mx.image.ForceResizeAug((12, 12))])
print(sum(b.data[0].asnumpy()[:2 - b.pad].sum() for b in it))
""")
script("record_read", """
import mxnet as mx
r = mx.recordio.MXRecordIO('train.rec', 'r')
while True:
    item = r.read()
    if not item: break
    header, s = mx.recordio.unpack(item)
    print(header.flag, header.label, header.id, len(s), mx.image.imdecode(s).shape)
r.reset(); print(len(r.read())); r.close()
""")
script("record_write", """
import mxnet as mx, struct
magic = struct.pack('<I', 0xced7230a)
bodies = [b'', b'a', b'abcd', b'x' * 9, magic, b'abcd' + magic + b'ef', b'a' + magic, magic * 3 + b'z']
w = mx.recordio.MXIndexedRecordIO('own.idx', 'own.rec', 'w')
for i, b in enumerate(bodies): w.write_idx(i, b)
w.close()
print(open('own.rec', 'rb').read().hex(), open('own.idx').read().split())
r = mx.recordio.MXIndexedRecordIO('own.idx', 'own.rec', 'r')
print(r.keys, [r.read_idx(i) == bodies[i] for i in (7, 0, 5)])
""")
script("record_pack", """
import mxnet as mx, numpy as np
from mxnet import recordio
for label in (4.0, [1, 2, 3], np.array([5.5])):
    s = recordio.pack(recordio.IRHeader(0, label, 7, 0), b'body')
    header, body = recordio.unpack(s)
    print(s.hex(), header.flag, np.asarray(header.label).tolist(), header.id, body)
""")
script("record_broken", """
import mxnet as mx
open('broken.rec', 'wb').write(b'not a record at all')
try: mx.recordio.MXRecordIO('broken.rec', 'r').read()
except mx.MXNetError: print('refused')
try: mx.recordio.MXRecordIO('nothing.rec', 'r')
except mx.MXNetError: print('refused')
""")
TRANSFORM = """
import mxnet as mx, numpy as np
from mxnet.gluon.data.vision import transforms
img = mx.image.imread('smooth.png')
"""
script("transforms_compose", TRANSFORM + """
t = transforms.Compose([transforms.Resize((24, 20)), transforms.CenterCrop(16), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
x = t(img); print(x.shape, x.dtype.__name__, x.asnumpy().sum().round(1), len(t))
""")
script("transforms_each", TRANSFORM + """
for t in (transforms.Cast('float16'), transforms.ToTensor(), transforms.Resize(20), transforms.Resize(20, keep_ratio=True), transforms.CenterCrop((10, 12)), transforms.CropResize(1, 2, 9, 8), transforms.CropResize(1, 2, 20, 20, (10, 10), 1)):
    x = t(img); print(type(t).__name__, x.shape, x.dtype.__name__, float(x.asnumpy().astype('float64').sum().round(1)))
print(transforms.ToTensor()(mx.nd.stack(img, img)).shape)
""")
script("dataset_array", """
import mxnet as mx, numpy as np
from mxnet import gluon
data = gluon.data.ArrayDataset(mx.nd.arange(12).reshape((6, 2)), np.arange(6))
print(len(data), data[2][0].asnumpy().tolist(), int(data[2][1]))
for last in ('keep', 'discard', 'rollover'):
    loader = gluon.data.DataLoader(data, batch_size=4, last_batch=last)
    print(last, len(loader), [[(x.shape, y.asnumpy().tolist(), y.dtype.__name__) for x, y in loader] for _ in range(2)])
print([float(x.asnumpy().sum()) for x in gluon.data.DataLoader(data.transform_first(lambda v: v * 2), 3).__iter__().__next__()])
""")
script("dataset_methods", """
import mxnet as mx
from mxnet.gluon.data import SimpleDataset, SequentialSampler, RandomSampler, BatchSampler, FilterSampler
d = SimpleDataset(list(range(10)))
print(list(d.filter(lambda v: v % 3 == 0)), list(d.take(3)), [list(d.shard(3, i)) for i in range(3)])
print(list(d.transform(lambda v: v * v, lazy=False)), list(SequentialSampler(3)), sorted(RandomSampler(4)))
print(list(BatchSampler(SequentialSampler(7), 3, 'keep')), list(FilterSampler(lambda v: v > 7, d)))
print(list(d.sample(SequentialSampler(2))))
""")
script("dataset_folder", """
import mxnet as mx
from mxnet.gluon.data.vision import ImageFolderDataset, transforms
d = ImageFolderDataset('folder')
print(d.synsets, d.items, d[1][0].shape, d[3][1])
loader = mx.gluon.data.DataLoader(d.transform_first(transforms.Compose([transforms.Resize(8), transforms.ToTensor()])), batch_size=2)
for x, y in loader: print(x.shape, y.asnumpy().tolist(), x.asnumpy().sum().round(2))
""")
script("dataset_records", """
from mxnet.gluon.data.vision import ImageRecordDataset
d = ImageRecordDataset('train.rec')
print(len(d), [(x.shape, float(y)) for x, y in (d[i] for i in range(3))])
print(ImageRecordDataset('train.rec', flag=0, transform=lambda x, y: (x.shape, y + 1))[0])
""")
script("batchify", """
import mxnet as mx, numpy as np
from mxnet.gluon.data.dataloader import default_batchify_fn
print([default_batchify_fn(s) for s in ([mx.nd.ones(2)] * 3, [1, 2], [1.5, 2], [np.ones(2, 'float32')] * 2)])
print([x.shape for x in default_batchify_fn([(mx.nd.ones(2), 1), (mx.nd.ones(2), 2)])])
""")
for loss, args in {
    "L2Loss": "", "L1Loss": "", "HuberLoss": "rho=0.3", "HingeLoss": "", "SquaredHingeLoss": "", "LogisticLoss": "",
    "SigmoidBinaryCrossEntropyLoss": "", "KLDivLoss": "from_logits=False",
    "SoftmaxCrossEntropyLoss": "sparse_label=False", "PoissonNLLLoss": "compute_full=True", "L2Loss ": "weight=3",
    "LogisticLoss ": "label_format='binary'", "SigmoidBCELoss": "from_sigmoid=True",
}.items():  # fmt: skip
    script(f"loss_{loss}_{args}", f"""
import mxnet as mx, numpy as np
r = np.random.RandomState(0)
pred, label = mx.nd.array(r.rand(3, 4)), mx.nd.array(r.rand(3, 4) > .5) + 2e-1
loss = mx.gluon.loss.{loss.strip()}({args})
print(loss, loss(pred, label).asnumpy().round(4).tolist(), loss(pred, label, mx.nd.array([[1], [2], [3]])).asnumpy().round(4).tolist())
""")
script("loss_classes", """
import mxnet as mx, numpy as np
r = np.random.RandomState(0)
pred = mx.nd.array(r.randn(3, 4))
print(mx.gluon.loss.SoftmaxCELoss()(pred, mx.nd.array([1, 0, 3])).asnumpy().round(4).tolist())
print(mx.gluon.loss.TripletLoss()(pred, pred + .2, pred * 2).asnumpy().round(4).tolist())
print(mx.gluon.loss.CosineEmbeddingLoss(margin=.1)(pred, pred * pred, mx.nd.array([1, -1, 1])).asnumpy().round(4).tolist())
print(mx.gluon.loss.CTCLoss()(mx.nd.array(r.rand(2, 6, 5)), mx.nd.array([[1, 2, -1], [0, 3, 3]])).asnumpy().round(3).tolist())
""")
script("contrib_nn", """
import mxnet as mx
from mxnet.gluon.contrib.nn import Concurrent, HybridConcurrent, Identity, SyncBatchNorm, PixelShuffle1D, PixelShuffle2D, PixelShuffle3D
from mxnet.gluon import nn
for kind in (Concurrent, HybridConcurrent):
    net = kind(axis=1, prefix='c_')
    with net.name_scope(): net.add(nn.Dense(2), Identity(), nn.Dense(1))
    net.initialize(mx.init.One()); print(net(mx.nd.arange(6).reshape((2, 3))).asnumpy().tolist(), list(net.collect_params()))
for shuffle, shape in ((PixelShuffle1D(2), (1, 4, 3)), (PixelShuffle2D((2, 3)), (1, 12, 2, 2)), (PixelShuffle3D((2, 1, 3)), (2, 12, 2, 1, 2))):
    x = mx.nd.array(__import__('numpy').arange(mx.nd.ones(shape).size).reshape(shape))
    print(shuffle, shuffle(x).shape, shuffle(x).asnumpy().ravel()[:17].tolist())
print(list(SyncBatchNorm(in_channels=3, prefix='s_').collect_params()))
""")
script("custom_operator", """
import mxnet as mx
class Scaled(mx.operator.CustomOp):
    def __init__(self, factor): self.factor = factor
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.factor + in_data[1])
        self.assign(out_data[1], req[1], in_data[0].sum())
@mx.operator.register('scaled')
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, factor='2'):
        super(ScaledProp, self).__init__(need_top_grad=False)
        self.factor = float(factor)
    def list_arguments(self): return ['data', 'shift']
    def list_outputs(self): return ['out', 'total']
    def infer_shape(self, in_shape): return in_shape, [in_shape[0], (1,)], []
    def create_operator(self, ctx, shapes, dtypes): return Scaled(self.factor)
a, b = mx.nd.Custom(mx.nd.arange(4), mx.nd.ones(4), op_type='scaled', factor=3)
print(a.asnumpy().tolist(), b.asnumpy().tolist())
""")
script("test_utils", """
import mxnet as mx, numpy as np
from mxnet.test_utils import *
assert_almost_equal(mx.nd.ones(3), np.ones(3) + 1e-5)
import contextlib, io
try:
    with contextlib.redirect_stdout(io.StringIO()): assert_almost_equal(np.ones(3, 'float32'), np.ones(3, 'float32') * 1.1)
except AssertionError as error: print(str(error).split('tolerance')[1].split('ACTUAL')[0].strip())
print(same(np.ones(2), np.ones(2)), almost_equal(np.ones(2), np.ones(2) + 1e-3), default_context(), default_dtype().__name__)
print(rand_ndarray((2, 3)).shape, len(rand_shape_nd(4)), rand_shape_2d(3, 4) <= (3, 4), get_rtol(), get_atol(dtype=np.dtype('float32')))
data = mx.sym.Variable('data'); print(simple_forward(data * 2, data=np.arange(3)).tolist())
check_symbolic_forward(data + 1, [np.ones(3)], [np.ones(3) + 1])
print(np_reduce(np.ones((2, 3)), 1, True, np.sum).tolist())
""")
script("contrib_elements", """
import mxnet as mx, numpy as np
x = mx.nd.array([1, np.inf, -np.inf, np.nan])
for f in (mx.nd.contrib.isnan, mx.nd.contrib.isinf, mx.nd.contrib.isfinite): print(f(x).asnumpy().tolist(), f(x).dtype.__name__)
""")
script("split_and_load", """
import mxnet as mx
from mxnet import gluon
parts = gluon.utils.split_and_load(mx.nd.arange(8).reshape((4, 2)), [mx.cpu(0)])
print([p.shape for p in parts], [p.shape for p in gluon.utils.split_data(mx.nd.ones((5, 2)), 2, even_split=False)])
""")
script("runtime", """
import mxnet as mx
f = mx.runtime.Features()
print(f.is_enabled('CUDA'), isinstance(mx.runtime.feature_list(), list), 'OPENCV' in f, mx.__version__, mx.libinfo.__version__)
try: f.is_enabled('nothing')
except RuntimeError: print('refused')
""")
script("engine_and_log", """
import mxnet as mx
with mx.engine.bulk(5): x = mx.nd.ones(2) + 1
print(x.asnumpy().tolist(), mx.log.get_logger('a', level=mx.log.INFO).level)
""")
script("registry", """
import mxnet as mx
class Base(object): pass
register = mx.registry.get_register_func(Base, 'base'); create = mx.registry.get_create_func(Base, 'base')
@register
class Own(Base):
    def __init__(self, a=1): self.a = a
print(create('own').a, create('own', a=3).a, create('["own", {"a": 5}]').a, list(mx.registry.get_registry(Base)))
""")
script("data_loader_iter", """
import mxnet as mx
loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.arange(10).reshape((5, 2)), mx.nd.arange(5)), batch_size=2)
it = mx.contrib.io.DataLoaderIter(loader)
print(it.provide_data, [(b.data[0].asnumpy()[:2 - b.pad].tolist(), b.label[0].asnumpy()[:2 - b.pad].tolist(), b.pad) for b in it])
""")
script("classify_an_image", """
import mxnet as mx, numpy as np
def transform(img):
    data = mx.image.resize_short(img, 12); data, _ = mx.image.center_crop(data, (8, 8))
    return data.astype('float32').mean(axis=2, keepdims=True).transpose((2, 0, 1)).expand_dims(0) / 16
net = mx.gluon.SymbolBlock.imports('digits-symbol.json', ['data', 'softmax_label'], 'digits-0020.params')
prob = net(transform(mx.image.imread('smooth.png')), mx.nd.zeros(1))
top = prob.topk(k=3)[0].asnumpy().astype(int).tolist()
print(top, [round(float(prob[0][i].asscalar()), 3) for i in top])
""")
script("metrics", """
import mxnet as mx, numpy as np
r = np.random.RandomState(3)
for name in ('f1', 'mcc', 'pearsonr'):
    for average in ('macro', 'micro')[:1 if name == 'pearsonr' else 2]:
        metric = mx.metric.create(name, average=average)
        print(metric.get()[0])
        for _ in range(3):
            label, pred = mx.nd.array(r.randint(0, 2, 7)), mx.nd.array(r.rand(7, 2))
            metric.update([label], [pred[:, 1] if name == 'pearsonr' else pred])
        print(metric.get()[0], round(float(metric.get()[1]), 5))
@mx.metric.register
class Own(mx.metric.EvalMetric):
    def __init__(self): super(Own, self).__init__('own')
    def update(self, labels, preds): self.sum_metric += 1; self.num_inst += 1
print(mx.metric.create('own').get()[0], mx.metric.F1.__name__)
""")
script("files_that_are_there", """
import mxnet as mx
print(mx.gluon.utils.download('http://example.com/smooth.png', path='smooth.png', overwrite=False))
print(mx.test_utils.download('http://example.com/smooth.png', overwrite=False), mx.gluon.utils.shape_is_known((2, 3)))
print(mx.gluon.utils.check_sha1('smooth.png', 'ab'))
""")

"""Train the digits checkpoint with real MXNet 1.9.1 and save it beside this script.

    pip install mxnet==1.9.1 'numpy<2' scikit-learn
    OMP_NUM_THREADS=1 python train.py [FOLDER]

The data are scikit-learn's 8x8 digits (UCI optical recognition of handwritten digits, the 1,797 images of its test
part), scaled to [0, 1]. A quarter is held out. Training runs on the CPU from fixed seeds and takes some seconds.

Two networks are trained: `lenet` with the symbol API and Module, saved with `save_checkpoint`, and a smaller gluon
twin, saved with `export` and with `save_parameters` (the same weights under structural names).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MXNET_SUBGRAPH_BACKEND", "NONE")

import numpy as np

SEED = 20240229
EPOCHS = 20
GLUON_EPOCHS = 12
BATCH = 32
REMOVED_FROM_NUMPY = {"bool": bool, "object": object, "int": int, "float": float, "complex": complex, "str": str}


def import_mxnet() -> ModuleType:
    """MXNet 1.9.1 uses six names that NumPy 1.24 removed; give back those that are missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, builtin in REMOVED_FROM_NUMPY.items():
            if not hasattr(np, name):
                setattr(np, name, builtin)
        import mxnet

    module: ModuleType = mxnet
    return module


def load_digits() -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]:
    """(train images, labels), (test images, labels): images float32 (N, 1, 8, 8) in [0, 1], labels int64 (N,)."""
    from sklearn.datasets import load_digits as sklearn_digits
    from sklearn.model_selection import train_test_split

    digits = sklearn_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    train, test, train_labels, test_labels = train_test_split(
        images, labels, test_size=0.25, random_state=SEED, stratify=labels
    )
    return (train, train_labels), (test, test_labels)


def lenet(mx: ModuleType) -> Any:
    """The network as a symbol. At 4x4 the second pooling gives 2x2 under `full` and would give 1x1 under `valid`."""
    sym = mx.sym
    data = sym.Variable("data")
    net = sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=16, no_bias=True, name="conv1")
    net = sym.BatchNorm(net, fix_gamma=True, eps=2e-5, name="bn1")
    net = sym.Activation(net, act_type="tanh", name="tanh1")
    net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool1")
    net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=32, name="conv2")
    net = sym.BatchNorm(net, fix_gamma=False, name="bn2")
    net = sym.Activation(net, act_type="relu", name="relu2")
    net = sym.Pooling(net, pool_type="max", kernel=(3, 3), stride=(2, 2), pooling_convention="full", name="pool2")
    net = sym.Flatten(net, name="flatten")
    net = sym.FullyConnected(net, num_hidden=48, name="fc1")
    net = sym.Activation(net, act_type="relu", name="relu3")
    net = sym.Dropout(net, p=0.3, name="drop")
    net = sym.FullyConnected(net, num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(net, name="softmax")


def train_lenet(mx: ModuleType, train: tuple[Any, ...], test: tuple[Any, ...], folder: Path) -> float:
    """Train with Module, save `digits-symbol.json` and `digits-0020.params`; returns the accuracy of the saved files.

    The stored gamma of `bn1` is overwritten with values other than 1: under fix_gamma MXNet computes with 1, whatever
    the file holds, and a converter that does not know that is found out by this checkpoint.
    """
    seed_everything(mx)
    batches = mx.io.NDArrayIter(train[0], train[1].astype(np.float32), BATCH, shuffle=True)
    module = mx.mod.Module(lenet(mx), context=mx.cpu())
    module.fit(
        batches,
        num_epoch=EPOCHS,
        optimizer="adam",
        optimizer_params={"learning_rate": 1e-3, "wd": 1e-3},
        initializer=mx.init.Xavier(),
        eval_metric="acc",
    )
    arguments, auxiliaries = module.get_params()
    arguments["bn1_gamma"][:] = np.linspace(0.5, 1.5, arguments["bn1_gamma"].size)
    prefix = str(folder / "digits")
    mx.model.save_checkpoint(prefix, EPOCHS, lenet(mx), arguments, auxiliaries)

    symbol, arguments, auxiliaries = mx.model.load_checkpoint(prefix, EPOCHS)
    module = mx.mod.Module(symbol, context=mx.cpu())
    module.bind([("data", (BATCH, 1, 8, 8))], [("softmax_label", (BATCH,))], for_training=False)
    module.set_params(arguments, auxiliaries)
    predicted = module.predict(mx.io.NDArrayIter(test[0], batch_size=BATCH)).asnumpy()
    return float(np.mean(predicted.argmax(axis=1) == test[1]))


def train_gluon(mx: ModuleType, train: tuple[Any, ...], test: tuple[Any, ...], folder: Path) -> float:
    """Train the gluon twin and save `digits-symbol.json`, `digits-0000.params` (export) and `digits.params`."""
    seed_everything(mx)
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="digits_")
    with net.name_scope():
        net.add(
            nn.Conv2D(8, 3, padding=1, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(2),
            nn.Conv2D(16, 3, padding=1),
            nn.BatchNorm(scale=False),
            nn.Activation("tanh"),
            nn.MaxPool2D(3, 2, ceil_mode=True),
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Dense(10),
        )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    batches = mx.gluon.data.DataLoader(
        mx.gluon.data.ArrayDataset(train[0], train[1].astype(np.float32)), BATCH, shuffle=True
    )
    for _ in range(GLUON_EPOCHS):
        for images, labels in batches:
            with mx.autograd.record():
                value = loss(net(images), labels)
            value.backward()
            trainer.step(len(images))
    predicted = net(mx.nd.array(test[0])).asnumpy()
    net.export(str(folder / "digits"))
    net.save_parameters(str(folder / "digits.params"))
    return float(np.mean(predicted.argmax(axis=1) == test[1]))


def seed_everything(mx: ModuleType) -> None:
    np.random.seed(SEED)
    mx.random.seed(SEED)


def main(folder: Path) -> None:
    mx = import_mxnet()
    import sklearn

    train, test = load_digits()
    (folder / "gluon").mkdir(parents=True, exist_ok=True)
    accuracy = train_lenet(mx, train, test, folder)
    gluon_accuracy = train_gluon(mx, train, test, folder / "gluon")
    np.savez_compressed(folder / "digits-test.npz", data=test[0], label=test[1])

    files = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix in {".params", ".npz"} or path.name.endswith("-symbol.json")
    )
    record = {
        "accuracy": accuracy,
        "gluon_accuracy": gluon_accuracy,
        "test_images": len(test[1]),
        "train_images": len(train[1]),
        "epochs": EPOCHS,
        "gluon_epochs": GLUON_EPOCHS,
        "seed": SEED,
        "versions": {
            "mxnet": mx.__version__,
            "numpy": np.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            "scikit-learn": sklearn.__version__,
        },
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files},
    }
    (folder / "accuracy.json").write_text(json.dumps(record, indent=2) + "\n", encoding="ascii")
    print(f"symbol API: {accuracy:.4f}, gluon: {gluon_accuracy:.4f} on {len(test[1])} held-out images")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train the digits checkpoint with real MXNet 1.9.1.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).resolve().parent, metavar="FOLDER")
    main(parser.parse_args().folder)

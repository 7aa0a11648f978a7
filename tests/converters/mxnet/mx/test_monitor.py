"""`mx.mon.Monitor`: what modules and executors compute, against live MXNet 1.9.1 where it is there."""

from __future__ import annotations

import logging
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx

OPTIONS: list[dict[str, Any]] = [
    {},
    {"pattern": ".*fc|soft", "sort": True},
    {"interval": 2, "monitor_all": True},
]
UNSEEN = ("bn_mean", "bn_var")


def network(m: Any) -> Any:
    with m.name.NameManager():
        hidden = m.sym.FullyConnected(m.sym.Variable("data"), num_hidden=3, name="fc1")
        hidden = m.sym.BatchNorm(m.sym.Activation(hidden, act_type="tanh", name="act"), name="bn")
        return m.sym.SoftmaxOutput(m.sym.FullyConnected(hidden, num_hidden=2, name="fc2"), name="softmax")


def bound(m: Any) -> Any:
    module = m.mod.Module(network(m))
    module.bind([("data", (2, 4))], [("softmax_label", (2,))], for_training=False)
    module.init_params(m.init.Constant(0.25))
    return module


def batch(m: Any, rows: int = 2) -> Any:
    data = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4) / 8
    return m.io.DataBatch([m.nd.array(data)], [m.nd.zeros((rows,))])


@pytest.mark.live
@pytest.mark.parametrize("options", OPTIONS)
def test_results_of_a_module_are_mxnets(mxnet: ModuleType, options: dict[str, Any]) -> None:
    def seen(m: Any) -> list[list[tuple[int, str, str]]]:
        module = bound(m)
        # Executors of MXNet 1.9.1 hand names over as bytes, which its Monitor turns into text.
        monitor = m.mon.Monitor(**{"interval": 1, "stat_func": lambda array: m.nd.max(array), **options})
        module.install_monitor(monitor)
        found = []
        for _ in range(3):
            monitor.tic()
            module.forward(batch(m), is_train=False)
            found.append(monitor.toc())
        return found

    ours, theirs = seen(mx), seen(mxnet)
    # MXNet also shows the outputs of BatchNorm that only training uses, and does not name the input of Activation.
    theirs = [
        [(step, {"act_input0": "act_data"}.get(name, name), text) for step, name, text in rows if name not in UNSEEN]
        for rows in theirs
    ]
    assert [[row[:2] for row in rows] for rows in ours] == [[row[:2] for row in rows] for rows in theirs]
    for rows, others in zip(ours, theirs, strict=True):
        values = [[float(row[2].strip("[] \t")) for row in both] for both in (rows, others)]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-5)


def test_statistics_are_shown_as_text(caplog: pytest.LogCaptureFixture) -> None:
    module = bound(mx)
    whole = mx.mon.Monitor(1, lambda array: [array.max(), array.reshape((-1,))[0:2]], pattern="fc2_bias")
    module.install_monitor(whole)
    whole.tic()
    module.forward(batch(mx))
    assert whole.toc() == [(1, "fc2_bias", "0.0\t[0. 0.]\t")]
    assert whole.toc() == []
    norms = mx.monitor.Monitor(1, pattern="fc1_weight")
    executor = network(mx).simple_bind(mx.cpu(), data=(2, 4))
    norms.install(executor)
    executor.arg_dict["fc1_weight"][:] = 2
    norms.tic()
    executor.forward()
    with caplog.at_level(logging.INFO):
        norms.toc_print()
    assert caplog.messages == ["Batch:       1                     fc1_weight 2.0\t"]


def test_a_monitor_follows_a_module_to_other_shapes() -> None:
    module = bound(mx)
    monitor = mx.mon.Monitor(1, lambda array: mx.nd.array([array.size]), pattern="fc1_output|fc1_bias")
    module.install_monitor(monitor)
    for rows in (2, 5, 2):
        monitor.tic()
        module.forward(batch(mx, rows))
        assert [row[1:] for row in monitor.toc()] == [("fc1_output", f"{rows * 3}.0\t"), ("fc1_bias", "3.0\t")]


def test_monitors_of_buckets_and_of_modules_behind_each_other() -> None:
    def made(length: int) -> Any:
        total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True, name="total")
        return mx.sym.FullyConnected(total, num_hidden=2, name="fc"), ("data",), None

    module = mx.mod.BucketingModule(made, default_bucket_key=4)
    monitor = mx.mon.Monitor(1, pattern="fc_output")
    with pytest.raises(AssertionError, match="not bound"):
        module.install_monitor(monitor)
    module.bind([("data", (1, 4))], for_training=False)
    module.init_params(mx.init.One())
    module.install_monitor(monitor)
    for length in (4, 2, 4):
        monitor.tic()
        given = mx.nd.ones((1, length))
        module.forward(mx.io.DataBatch([given], bucket_key=length, provide_data=[("data", given.shape)]))
        assert [row[1:] for row in monitor.toc()] == [("fc_output", f"{float(length)}\t")]

    behind = mx.mod.SequentialModule()
    behind.add(mx.mod.Module(made(3)[0], label_names=None))
    behind.add(mx.mod.Module(mx.sym.relu(mx.sym.Variable("data"), name="top"), label_names=None), auto_wiring=True)
    behind.bind([("data", (1, 3))], for_training=False)
    behind.init_params(mx.init.One())
    monitor = mx.mon.Monitor(1, pattern=".*_output")
    behind.install_monitor(monitor)
    monitor.tic()
    behind.forward(mx.io.DataBatch([mx.nd.ones((1, 3))]))
    assert [row[1] for row in monitor.toc()] == ["total_output", "fc_output", "top_output"]


def test_a_statistic_that_is_no_array_is_refused() -> None:
    module = bound(mx)
    monitor = mx.mon.Monitor(1, lambda array: 3)
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(batch(mx))
    with pytest.raises(AssertionError, match="gives an NDArray or a list of them, got int"):
        monitor.toc()

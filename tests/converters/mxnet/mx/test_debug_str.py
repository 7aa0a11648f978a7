"""`Executor.debug_str`: the memory that it states, and scripts that read it, beside live MXNet."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx as ours


def layers(sym: Any) -> Any:
    net = sym.var("data")
    for number in range(4):
        net = sym.Activation(sym.FullyConnected(net, num_hidden=1024, name=f"f{number}"), act_type="tanh")
    return sym.SoftmaxOutput(net, name="softmax")


def stages(sym: Any) -> Any:
    net = sym.var("data")
    for _ in range(6):
        net = sym.tanh(sym.sin(sym.exp(net * 0.5)))
        net._set_attr(mirror_stage="True")
    return net


def images(sym: Any) -> Any:
    net = sym.var("data")
    for number in range(3):
        net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=16, name=f"c{number}")
        net = sym.Activation(sym.BatchNorm(net, name=f"b{number}"), act_type="relu")
    net = sym.Pooling(net, global_pool=True, kernel=(1, 1))
    return sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=10), name="softmax")


def squares(sym: Any) -> Any:
    net = sym.var("data")
    for _ in range(6):
        net = net * net
    return net


NETWORKS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "layers": (layers, (1024, 512)),
    "images": (images, (8, 3, 64, 64)),
    "squares": (squares, (10, 3, 128, 128)),
    "squares without a gradient": (lambda sym: sym.BlockGrad(squares(sym)), (10, 3, 128, 128)),
}


def last_lines(executor: Any) -> list[str]:
    return str(executor.debug_str()).split("\n")[-3:]


def bound_with(frame: Any, net: Any, shape: tuple[int, ...], gradients: Callable[[str], bool] | None) -> Any:
    """The network bound to arrays, with those for the gradients of some arguments."""
    arrays = net.simple_bind(frame.cpu(), grad_req="null", data=shape)
    given = None if gradients is None else {name: frame.nd.zeros(held.shape)
                                            for name, held in arrays.arg_dict.items() if gradients(name)}  # fmt: skip
    return net.bind(frame.cpu(), arrays.arg_dict, args_grad=given, aux_states=arrays.aux_dict)


BINDS: dict[str, Callable[[Any, Any, tuple[int, ...]], Any]] = {
    **{request: lambda frame, net, shape, request=request: net.simple_bind(frame.cpu(), grad_req=request, data=shape)  # type: ignore[misc]
       for request in ("write", "null", "add")},
    "weights only": lambda frame, net, shape: net.simple_bind(
        frame.cpu(), data=shape,
        grad_req={name: "write" if name.endswith("weight") else "null" for name in net.list_arguments()},
    ),
    "bound without gradients": lambda frame, net, shape: bound_with(frame, net, shape, None),
    "bound with gradients": lambda frame, net, shape: bound_with(frame, net, shape, lambda name: True),
    "bound with that of data": lambda frame, net, shape: bound_with(frame, net, shape, lambda name: name == "data"),
}  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("bind", BINDS)
@pytest.mark.parametrize("network", NETWORKS)
def test_states_the_memory_that_live_mxnet_states(network: str, bind: str, mxnet: ModuleType) -> None:
    build, shape = NETWORKS[network]
    found, expected = (last_lines(BINDS[bind](frame, build(frame.sym), shape)) for frame in (ours, mxnet))
    assert found == expected
    assert found[0].startswith("Total ")


def planned_by_a_script(frame: Any) -> list[int]:
    """Costs as scripts of memory planning read them: marks are set on a copy, the total is the second word."""
    costs = []
    for kept in (0, 12, 30):
        net = stages(frame.sym).__copy__()
        inner = net.get_internals()
        for place, name in enumerate(inner.list_outputs()):
            if name != "data":
                keeps = inner[place].attr("mirror_stage") is not None and place < kept
                inner[place]._set_attr(force_mirroring=str(not keeps))
        executor = net.simple_bind(ctx=frame.cpu(), grad_req="write", data=(1024, 512))
        costs.append(int(executor.debug_str().split("\n")[-3].split()[1]))
    return costs


@pytest.mark.live
def test_scripts_that_plan_memory_read_the_same(mxnet: ModuleType) -> None:
    found = planned_by_a_script(ours)
    assert found == planned_by_a_script(mxnet)
    assert len(set(found)) > 1


def test_what_is_not_planned_is_said() -> None:
    net = ours.sym.Custom(ours.sym.var("a"), op_type="mine", name="own")
    executor = ours.executor.Executor(net, ours.cpu(), [ours.nd.ones((2,))], None, [])
    assert last_lines(executor)[0].startswith("The memory is not known: ")

"""`mx.operator`: operators in Python, run forwards on arrays (`mx.nd.Custom`) and in symbols (`mx.sym.Custom`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.context import context_of
from graphir.converters.mxnet.mx.ndarray.array import NDArray
from graphir.converters.mxnet.mx.python_operator import PROPERTIES, register_property, run_forward
from graphir.converters.mxnet.mx.refusals import refused_method, refused_name

NDArrayOp = refused_name("mx.operator.NDArrayOp", "mx.operator.CustomOp takes its place", training=False)
NumpyOp = refused_name("mx.operator.NumpyOp", "mx.operator.CustomOp takes its place", training=False)
PythonOp = refused_name("mx.operator.PythonOp", "mx.operator.CustomOp takes its place", training=False)


class CustomOp:
    """An operator in Python: `forward` writes its outputs by `assign`."""

    def forward(self, is_train: bool, req: Sequence[str], in_data: Any, out_data: Any, aux: Any) -> None:
        """Compute; subclasses define it."""

    backward = refused_method("CustomOp.backward")

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Write an output, or add to it, as `req` demands."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] = dst + src


class CustomOpProp:
    """What an operator in Python takes and gives. All shapes and dtypes are those of the first input by default."""

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: Any) -> Any:
        """Return the shapes of inputs, outputs and states."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: Any) -> Any:
        """Return the dtypes of inputs, outputs and states."""
        outputs, states = len(self.list_outputs()), len(self.list_auxiliary_states())
        return in_type, [in_type[0]] * outputs, [in_type[0]] * states

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the states."""
        return []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> CustomOp:
        """Return the operator for these shapes and dtypes."""
        return CustomOp()


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Return a decorator that makes an operator known under a name, the `op_type` of `Custom`."""

    def registered(prop_cls: type[CustomOpProp]) -> type[CustomOpProp]:
        register_property(reg_name, prop_cls)
        return prop_cls

    return registered


def Custom(*args: NDArray, op_type: str = "", **kwargs: Any) -> Any:
    """Return what an operator in Python computes. Raises MXNetError for one that is not registered."""
    kwargs.pop("name", None)
    prop_class = PROPERTIES.get(op_type)
    if prop_class is None:
        raise MXNetError(f"Cannot find custom operator {op_type!r}; mx.operator.register makes it known")
    given = {key: kwargs.pop(key) for key in list(kwargs) if isinstance(kwargs[key], NDArray)}
    parameters: dict[str, Any] = {key: str(value) for key, value in kwargs.items()}  # as MXNet writes them
    prop = prop_class(**parameters)
    names, states = prop.list_arguments(), prop.list_auxiliary_states()
    inputs = [*args, *(given[name] for name in (*names, *states)[len(args) :])]
    if not all(isinstance(array, NDArray) for array in inputs):
        raise MXNetError(f"mx.nd.Custom computes {op_type!r} of arrays; mx.sym.Custom makes it a part of a symbol")
    outputs = run_forward(
        prop, inputs[: len(names)], inputs[len(names) :], context_of(inputs[0].context if inputs else None)
    )
    return outputs[0] if len(outputs) == 1 else outputs


def get_all_registered_operators() -> list[str]:
    """Return the names of MXNet's operators."""
    from graphir.converters.mxnet.schema.registry import registered_names

    return sorted(registered_names())


__all__ = ["Custom", "CustomOp", "CustomOpProp", "get_all_registered_operators", "register"]

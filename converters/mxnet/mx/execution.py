"""`Executor`: a symbol bound to arrays, run forward by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphir.converters.mxnet.files.records import VARIABLE
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.context import Context
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.ndarray import empty as empty_array
from graphir.converters.mxnet.mx.refusals import refuse_training, refused_method
from graphir.converters.mxnet.mx.running import BoundSymbol, trained_otherwise
from graphir.converters.mxnet.schema.operators import node_signature, output_name
from graphir.errors import GraphirError
from graphir.safety.foreign_text import one_line

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.symbol import Symbol

Arrays = list[NDArray]
Monitor = Callable[[str, NDArray], object]


class Executor:
    """A symbol with an array for every argument and auxiliary state, which `forward` computes.

    `arg_arrays`, `grad_arrays`, `aux_arrays` and `outputs` stand in the order of `list_arguments`,
    `list_auxiliary_states` and `list_outputs`; the dictionaries hold the same arrays by name. What is written into them
    is seen by the next `forward`, which writes into `outputs`. Arrays for gradients are there as MXNet makes them, and
    stay as they are: there is no `backward`.
    """

    def __init__(
        self, symbol: Symbol, ctx: Context, args: Arrays, args_grad: Sequence[NDArray | None] | None, aux: Arrays,
        outputs: Arrays | None = None,
    ) -> None:  # fmt: skip
        self._symbol = symbol
        self._ctx = ctx
        self.arg_arrays = args
        self.grad_arrays = None if args_grad is None else list(args_grad)
        self.aux_arrays = aux
        self.arg_dict = by_name(symbol.list_arguments(), args)
        self.aux_dict = by_name(symbol.list_auxiliary_states(), aux)
        self.grad_dict = dict(zip(self.arg_dict, self.grad_arrays or [None] * len(args), strict=True))
        self.outputs: Arrays = [] if outputs is None else outputs
        self._network = BoundSymbol(symbol.records(), self.arg_dict | self.aux_dict, ctx)
        self._monitor: Monitor | None = None
        self._monitors_inputs = False
        self._internals: BoundSymbol | None = None

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return by_name(self._symbol.list_outputs(), self.outputs)

    def forward(self, is_train: bool = False, **kwargs: Any) -> Arrays:
        """Compute the outputs and return them.

        Arrays given by name are written into those arguments first. Raises TypeError for a name that is no argument,
        ValueError for what is no array of the argument's shape, TrainingError under `is_train` for a network that
        computes something else while it is trained, and GraphirError for what cannot be converted to ONNX.
        """
        if is_train:
            self._refuse_training_forward()
        for name, given in kwargs.items():
            self._write_argument(name, given)
        if self._monitor is not None:
            self._show(self._monitor)
        self._take(self._network.run())
        return self.outputs

    backward = refused_method("Executor.backward")

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Write arrays into arguments and auxiliary states of these names.

        Raises ValueError for other names unless `allow_extra_params`, and MXNetError for other shapes.
        """
        for stored, given, what in (
            (self.arg_dict, arg_params, "arguments"),
            (self.aux_dict, aux_params or {}, "auxiliary states"),
        ):
            for name, array in given.items():
                if name in stored:
                    copy_into(name, array, stored[name])
                elif not allow_extra_params:
                    raise ValueError(f'Find name "{name}" that is not in the {what}: {", ".join(stored) or "none"}')

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> Executor:
        """Return an executor for other shapes of inputs, which shares the arrays whose shapes stay, outputs too.

        Smaller arrays are the beginnings of those that are here. Raises MXNetError for an argument that is not named
        and changes its shape, unless `partial_shaping`, and for one that grows, unless `allow_up_sizing`.
        """
        shapes, results, states = (list(group or ()) for group in self._symbol.infer_shape(**kwargs))
        if len(shapes) != len(self.arg_arrays):
            raise MXNetError(f"the shapes {kwargs} leave others open; name those of all inputs")
        arguments: Arrays = []
        gradients: list[NDArray | None] = []
        for (name, array), shape in zip(self.arg_dict.items(), shapes, strict=True):
            arguments.append(_reshaped(name, array, shape, name in kwargs or partial_shaping, allow_up_sizing))
            gradient = self.grad_dict[name]
            sizes: Any = shape
            gradients.append(None if gradient is None else empty_array(sizes, gradient.context, gradient.dtype))
        auxiliary = [
            _reshaped(name, array, shape, partial_shaping, allow_up_sizing)
            for (name, array), shape in zip(self.aux_dict.items(), states, strict=True)
        ]
        given = None if self.grad_arrays is None else gradients
        outputs = [_reshaped("", array, shape, True, True) for array, shape in zip(self.outputs, results, strict=False)]
        return Executor(self._symbol, self._ctx, arguments, given, auxiliary, outputs)

    def set_monitor_callback(self, callback: Monitor, monitor_all: bool = False) -> None:
        """Call `callback` with the name and the array of every operator's output when `forward` is called.

        With `monitor_all` also with those of every input, `<node>_<input>`, and of variables that are read.
        """
        self._monitor, self._monitors_inputs = callback, monitor_all

    def debug_str(self) -> str:
        """Return the nodes that are run, in MXNet's layout, and the memory that MXNet's executor takes for them.

        The memory is what MXNet plans for the gradients that were asked for, though there is no `backward`. Of its
        nodes those that compute gradients are not listed.
        """
        return f"{self._symbol.debug_str()}{self._memory()}\nTotal 11 TempSpace resource requested\n"

    def _memory(self) -> str:
        # by their names: most executors are never asked
        from graphir.converters.mxnet.memory.plan import Planned, from_environment

        wanted = frozenset(name for name, gradient in self.grad_dict.items() if gradient is not None)
        arrays = self.arg_dict | self.aux_dict
        try:
            planned = Planned(self._network.records, {name: array.shape for name, array in arrays.items()},
                              {name: array.tensor.dtype for name, array in arrays.items()})  # fmt: skip
            blocks = planned.blocks(replace(from_environment(), training=bool(wanted), wanted=wanted))
        except GraphirError as error:
            return f"The memory is not known: {one_line(str(error))}"
        return f"Total {blocks.total >> 20} MB allocated"

    def _refuse_training_forward(self) -> None:
        nodes = trained_otherwise(self._network.records)
        if nodes:
            shown = ", ".join(nodes[:3]) + (", ..." if len(nodes) > 3 else "")
            refuse_training(
                f"forward(is_train=True) of a network with {shown}",
                "forward(is_train=False), or bind(for_training=False) of a Module, computes what the network predicts",
            )

    def _write_argument(self, name: str, given: object) -> None:
        if name not in self.arg_dict:
            raise TypeError(f"there is no argument {name}; the arguments are {', '.join(self.arg_dict)}")
        if not isinstance(given, NDArray | np.ndarray):
            raise ValueError(f"argument {name} takes an NDArray or a numpy array, found {type(given)}")
        argument = self.arg_dict[name]
        if tuple(given.shape) != argument.shape:
            raise ValueError(f"the argument {name} has the shape {argument.shape}, found {tuple(given.shape)}")
        argument[:] = given

    def _take(self, results: Sequence[np.ndarray[Any, Any]]) -> None:
        """Write the results into the outputs that are there, as MXNet does."""
        if len(self.outputs) != len(results):
            self.outputs = [NDArray(result, self._ctx) for result in results]
            return
        for place, result in enumerate(results):
            output = self.outputs[place]
            if output.shape == result.shape and output.dtype is result.dtype.type:
                output[:] = result
            else:
                self.outputs[place] = NDArray(result, self._ctx)

    def _show(self, monitor: Monitor) -> None:
        """Call the monitor with every value of the network, in the order in which it is computed."""
        if self._internals is None:
            self._internals = BoundSymbol(self._symbol.get_internals().records(), self._network.arrays, self._ctx)
        records = self._internals.records
        values = dict(zip(records.heads, self._internals.run(), strict=True))
        for index, slot in records.heads:
            node = records.nodes[index]
            if node.op == VARIABLE:
                continue
            for entry, operand in zip(node.inputs, node_signature(node).inputs, strict=False):
                if not self._monitors_inputs or slot:
                    break
                source = records.nodes[entry[0]]
                if source.op == VARIABLE:  # at each of its users, as MXNet shows it
                    monitor(source.name, NDArray(values[entry], self._ctx))
                monitor(f"{node.name}_{operand}", NDArray(values[entry], self._ctx))
            monitor(output_name(node, slot), NDArray(values[index, slot], self._ctx))


def by_name(names: Sequence[str], arrays: Sequence[NDArray]) -> dict[str, NDArray]:
    """Arrays by name. Raises ValueError for a name that comes twice."""
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"two of the names are {twice}, among {list(names)}")
    return dict(zip(names, arrays, strict=False))


def copy_into(name: str, array: NDArray, target: NDArray) -> None:
    """Write an array into another of its shape. Raises MXNetError naming both shapes."""
    if array.shape != target.shape:
        raise MXNetError(f"{name} has the shape {target.shape}, found an array of {array.shape}")
    target[:] = array


def _reshaped(name: str, array: NDArray, shape: Any, is_named: bool, may_grow: bool) -> NDArray:
    if array.shape == shape:
        return array
    if not is_named:
        raise MXNetError(
            f"the shape of {name}, which is not given, changes from {array.shape} to {shape}; "
            "check the shapes that are given, or set partial_shaping=True"
        )
    count = int(np.prod(shape, dtype=np.int64))
    if count > array.size:
        if not may_grow:
            raise MXNetError(
                f"the new shape {shape} of {name} is larger than {array.shape}; bind the largest shape first, or set "
                "allow_up_sizing=True"
            )
        return empty_array(shape, array.context, array.dtype)
    return array.reshape((-1,))[0:count].reshape(shape)

"""`mx.contrib.onnx`: both ways under the old names, `export_model` and `import_model`."""

from __future__ import annotations

import os
from typing import Any

from graphir.converters.mxnet.files.params import split_prefixes
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.onnx import export_model as export
from graphir.converters.mxnet.mx.symbol import load_json
from graphir.errors import ImportFailure
from graphir.safety.arguments import PathLike

OPSET_PLACE = 6


def export_model(*args: Any, **kwargs: Any) -> str:
    """`mx.onnx.export_model`; the seventh argument may also be the opset, which it was before MXNet 1.9."""
    if len(args) > OPSET_PLACE and isinstance(args[OPSET_PLACE], int) and not isinstance(args[OPSET_PLACE], bool):
        if len(args) > OPSET_PLACE + 1:
            raise TypeError(f"before MXNet 1.9 export_model took {OPSET_PLACE + 1} arguments, got {len(args)}")
        args, kwargs = args[:OPSET_PLACE], {**kwargs, "opset_version": args[OPSET_PLACE]}
    return export(*args, **kwargs)


def import_model(model_file: PathLike, *, as_mxnet: bool = False) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return an ONNX model as MXNet has it: symbol, arguments and auxiliary states by name.

    They are this package's objects; with `as_mxnet` they are MXNet's own, which must be importable then. Raises
    UnsupportedOpError listing every node that MXNet cannot express, and ImportFailure.
    """
    from graphir.converters.mxnet import to_symbol
    from graphir.converters.onnx import from_model

    text, params = to_symbol(from_model(os.fspath(model_file)))
    arguments, states, _ = split_prefixes({name: NDArray(array) for name, array in params.items()})
    if not as_mxnet:
        return load_json(text), arguments, states
    mxnet = _mxnet("as_mxnet=True")
    return (
        mxnet.sym.load_json(text),
        {name: _live_array(mxnet, array) for name, array in arguments.items()},
        {name: _live_array(mxnet, array) for name, array in states.items()},
    )


def get_model_metadata(model_file: PathLike) -> dict[str, list[tuple[Any, ...]]]:
    """Inputs that have no initializer as (name, shape, ONNX element type), and outputs as (name, shape).

    A size that the file leaves open is 0. Raises FormatError.
    """
    from graphir.converters.onnx.files.reader import open_model

    graph = open_model(os.fspath(model_file)).model.graph
    stored = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
    return {
        "input_tensor_data": [
            (value.name, _sizes(value), value.type.tensor_type.elem_type)
            for value in graph.input
            if value.name not in stored
        ],
        "output_tensor_data": [(value.name, _sizes(value)) for value in graph.output],
    }


def import_to_gluon(model_file: PathLike, ctx: Any) -> Any:
    """Return an ONNX model as a gluon SymbolBlock of live MXNet, its parameters on `ctx` (a context or a list of them).

    Raises ImportFailure where MXNet cannot be imported: a block without MXNet could not run.
    """
    mxnet = _mxnet("a gluon block")
    inputs = [name for name, *_ in get_model_metadata(model_file)["input_tensor_data"]]
    symbol, arguments, states = import_model(model_file, as_mxnet=True)
    read = set(symbol.list_inputs())
    block = mxnet.gluon.SymbolBlock(outputs=symbol, inputs=[mxnet.sym.var(name) for name in inputs if name in read])
    parameters = block.collect_params()
    for name, array in {**arguments, **states}.items():
        if name in parameters:
            parameters[name].shape = array.shape
            parameters[name]._load_init(array, ctx=ctx)
    return block


def _sizes(value: Any) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


def _mxnet(what: str) -> Any:
    from graphir.converters.mxnet.live import child

    program: Any = child  # plain Python, without types
    try:
        return program.import_mxnet()
    except (ImportError, AttributeError, OSError) as error:
        raise ImportFailure(
            f"{what} needs MXNet in this Python, and it cannot be imported ({error}); "
            "MXNet 1.9.1 wants Python 3.12 or older and numpy below 2"
        ) from error


def _live_array(mxnet: Any, array: NDArray) -> Any:
    """MXNet's own array; it takes no bfloat16 from numpy, but makes it from float32 without loss."""
    elements = array.asnumpy()
    if elements.dtype.name == "bfloat16":
        return mxnet.nd.array(elements.astype("float32")).astype("bfloat16")
    return mxnet.nd.array(elements, dtype=elements.dtype)


__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]

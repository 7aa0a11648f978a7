"""Live MXNet, 1.9.1 or 2.0, as an oracle, in a child process.

`Live` starts this file as a program in an interpreter that has MXNet: the running one, or the one that the environment
variable GRAPHIR_MXNET_PYTHON names. One child runs the plain operators (oneDNN off: the documented semantics), another
one, started when first needed, the operators that MXNet's CPU build has through oneDNN only.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import struct
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

ONEDNN_SWITCHES = ("MXNET_USE_ONEDNN", "MXNET_ONEDNN_ENABLED", "MXNET_MKLDNN_ENABLED")
ONEDNN_OPERATORS = ("RNN", "_contrib_BatchNormWithReLU")
Arrays = dict[str, NDArray[Any]]


class LiveError(Exception):
    """MXNet refused a symbol or its inputs; the text is MXNet's."""


def interpreter() -> str:
    """The Python that has MXNet."""
    return os.environ.get("GRAPHIR_MXNET_PYTHON", sys.executable)


def import_mxnet(onednn: bool = False) -> Any:
    """Import MXNet with plain operators, under a NumPy that lacks the aliases it wants. Raises ImportError."""
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    if not onednn:
        os.environ.update(dict.fromkeys(ONEDNN_SWITCHES, "0"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
        try:
            import mxnet
        except AttributeError as error:
            raise ImportError(f"mxnet cannot be imported with numpy {np.__version__}: {error}") from error
    if mxnet.__version__.startswith("2."):
        mxnet.npx.reset_np()  # 2.0 begins with NumPy's semantics; each symbol says which it has
    return mxnet


def run(mxnet: Any, symbol_json: str, arrays: Mapping[str, NDArray[Any]], internals: bool = False) -> Arrays:
    """The outputs by MXNet's names, in inference mode; a symbol of np_shape semantics runs in their scope.

    Raises MXNet's own error.
    """
    np_shape = json.loads(symbol_json).get("attrs", {}).get("is_np_shape", ["int", 0])[1]
    with mxnet.util.np_shape(bool(np_shape)):
        return _run(mxnet, symbol_json, arrays, internals)


def _run(mxnet: Any, symbol_json: str, arrays: Mapping[str, NDArray[Any]], internals: bool) -> Arrays:
    symbol = (getattr(mxnet.sym, "load_json", None) or mxnet.sym.fromjson)(symbol_json)
    if internals:
        symbol = symbol.get_internals()

    def held(names: Sequence[str]) -> dict[str, Any]:
        return {name: mxnet.nd.array(arrays[name], dtype=arrays[name].dtype) for name in names}

    arguments, states = held(symbol.list_arguments()), held(symbol.list_auxiliary_states())
    executor = (
        symbol._bind(mxnet.cpu(), arguments, aux_states=states, grad_req="null")
        if hasattr(symbol, "_bind")
        else symbol.bind(mxnet.cpu(), arguments, aux_states=states, grad_req="null")
    )
    results = executor.forward(is_train=False)
    return {name: result.asnumpy() for name, result in zip(symbol.list_outputs(), results, strict=True)}


def write_message(stream: IO[bytes], header: object, arrays: Mapping[str, NDArray[Any]]) -> None:
    """One message: two lengths, a JSON header, the arrays as an uncompressed .npz."""
    text = json.dumps(header).encode()
    body = io.BytesIO()
    np.savez(body, **dict(arrays))
    stream.write(struct.pack("<QQ", len(text), body.tell()) + text + body.getvalue())
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[Any, Arrays]:
    """The next message; EOFError when the other side is gone."""
    lengths = stream.read(16)
    if len(lengths) < 16:
        raise EOFError("the other side is gone")
    text, body = (stream.read(length) for length in struct.unpack("<QQ", lengths))
    with np.load(io.BytesIO(body)) as archive:
        return json.loads(text), {name: archive[name] for name in archive.files}


# Processes that nobody uses at the moment: each costs more than a second, which many modules of tests would pay anew.
_IDLE: dict[tuple[object, ...], list[subprocess.Popen[bytes]]] = {}


@atexit.register
def close_idle() -> None:
    """End the processes that nobody uses."""
    for child in (child for idle in _IDLE.values() for child in idle):
        if child.stdin is not None:
            child.stdin.close()
        child.wait(timeout=60)
    _IDLE.clear()


class Live:
    """A running MXNet. Use it as a context manager; `run` may be called any number of times."""

    def __init__(self, onednn: bool = False) -> None:
        self.onednn = onednn
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            _IDLE.setdefault(self._key(), []).append(self._child)
            self._child = None

    def _key(self) -> tuple[object, ...]:
        """What a process depends on: its command and its environment, but for what pytest says of the test."""
        held = sorted(item for item in os.environ.items() if not item[0].startswith("PYTEST_"))
        return interpreter(), self.onednn, *held

    def _started(self) -> subprocess.Popen[bytes]:
        """A process that another one has done with, seeded as a new one is, or a new one."""
        idle = _IDLE.get(self._key())
        if idle:
            child = idle.pop()
            if child.stdin is not None and child.stdout is not None and child.poll() is None:
                write_message(child.stdin, {"seed": 0}, {})
                read_message(child.stdout)
                return child
        command = [interpreter(), str(Path(__file__).resolve()), *(["--onednn"] if self.onednn else [])]
        switch = str(int(self.onednn))  # whatever this process has set for itself
        environment = os.environ | dict.fromkeys(ONEDNN_SWITCHES, switch)
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def run(self, symbol_json: str, arrays: Mapping[str, NDArray[Any]], internals: bool = False) -> Arrays:
        """The outputs by name. Raises LiveError with MXNet's message; ImportError when there is no MXNet."""
        if self._child is None:
            self._child = self._started()
        child = self._child
        if child.stdin is None or child.stdout is None:
            raise LiveError("the child process has no pipes")
        try:
            write_message(child.stdin, {"symbol": symbol_json, "internals": internals}, arrays)
            header, results = read_message(child.stdout)
        except (EOFError, BrokenPipeError) as error:
            self._child = None
            raise LiveError(f"MXNet's process ended with {child.wait()}") from error
        if "missing" in header:
            raise ImportError(header["missing"])
        if "error" in header:
            raise LiveError(header["error"])
        return {name: results[f"output{index}"] for index, name in enumerate(header["names"])}


class LivePair:
    """Live MXNet with its plain operators and, for what its CPU build has through oneDNN only, a second one with it."""

    def __init__(self) -> None:
        self._plain, self._onednn = Live(onednn=False), Live(onednn=True)

    def __enter__(self) -> LivePair:
        return self

    def __exit__(self, *_: object) -> None:
        self._plain.__exit__()
        self._onednn.__exit__()

    def run(self, symbol_json: str, arrays: Mapping[str, NDArray[Any]], *, onednn: bool = False) -> Arrays:
        """The outputs by name. Raises LiveError with the plain one's message; ImportError when there is no MXNet.

        With `onednn`, and for operators that give other numbers without it, the second one computes at once.
        """
        if onednn or any(node["op"] in ONEDNN_OPERATORS for node in json.loads(symbol_json)["nodes"]):
            return self._onednn.run(symbol_json, arrays)
        try:
            return self._plain.run(symbol_json, arrays)
        except LiveError as error:
            try:
                return self._onednn.run(symbol_json, arrays)
            except LiveError:
                raise error from None


def serve(onednn: bool) -> None:
    """Answer messages on stdin until it ends; MXNet's own output goes to stderr."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    missing, mxnet = "", None
    try:
        mxnet = import_mxnet(onednn)
    except ImportError as error:
        missing = str(error) or "mxnet is not installed"
    for fatal in (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV):
        signal.signal(fatal, signal.SIG_DFL)  # MXNet's own handlers allocate, and wait for ever in a broken heap
    while True:
        try:
            request, arrays = read_message(sys.stdin.buffer)
        except EOFError:
            return
        if missing:
            write_message(replies, {"missing": missing}, {})
            continue
        if mxnet is not None and "seed" in request:
            mxnet.random.seed(request["seed"])
            write_message(replies, {}, {})
            continue
        try:
            results = run(mxnet, request["symbol"], arrays, request["internals"])
        except Exception as error:
            write_message(replies, {"error": f"{type(error).__name__}: {error}"}, {})
            continue
        named = {f"output{index}": value for index, value in enumerate(results.values())}
        write_message(replies, {"names": list(results)}, named)


if __name__ == "__main__":
    serve("--onednn" in sys.argv[1:])

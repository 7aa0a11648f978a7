"""The finder that makes `import mxnet` mean this package, with every submodule."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from graphir.converters.mxnet.mx.refusals import MODULES as REFUSED
from graphir.converters.mxnet.mx.refusals import refused_module

NAME = "mxnet"
FACADE = "graphir.converters.mxnet.mx"

VIEWS = {
    **dict.fromkeys(("contrib.nd", "contrib.ndarray"), ("ndarray.contrib",)),
    **dict.fromkeys(("contrib.sym", "contrib.symbol"), ("symbol.contrib",)),
    **dict.fromkeys(("contrib.onnx.onnx2mx", "contrib.onnx.onnx2mx.import_model"), ("contrib.onnx",)),
    "gluon.contrib.cnn.conv_layers": ("gluon.contrib.cnn",),
    **{f"gluon.contrib.rnn.{name}": ("gluon.contrib.rnn",) for name in ("conv_rnn_cell", "rnn_cell")},
    **dict.fromkeys(("gluon.contrib.nn.basic_layers",), ("gluon.contrib.nn",)),
    **{f"gluon.model_zoo.vision.{name}": ("gluon.model_zoo.vision",)
       for name in ("densenet", "squeezenet", "vgg")},
    **dict.fromkeys(("gluon.rnn.rnn_cell", "gluon.rnn.rnn_layer"), ("gluon.rnn",)),
    "gluon.trainer": ("gluon",),
    "image.image": ("image",),
    **dict.fromkeys(("io.io", "io.utils"), ("io",)),
    **dict.fromkeys(("ndarray.ndarray", "ndarray.utils"), ("ndarray",)),
}  # fmt: skip
"""MXNet's modules that have no module of the same name here, and those whose names they show."""


class ModuleView(ModuleType):
    """A module that shows the names of others."""

    def __init__(self, name: str, shown: Iterable[str]) -> None:
        super().__init__(name)
        self._shown = [resolve(path) for path in shown]

    def __getattr__(self, name: str) -> Any:
        for module in self._shown if name[:2] != "__" or name == "__all__" else ():
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({name for module in self._shown for name in dir(module)})


def resolve(path: str) -> ModuleType:
    """Return the module that MXNet has under a path below `mxnet`. Raises ModuleNotFoundError for any other path."""
    if path in VIEWS:
        return ModuleView(f"{NAME}.{path}", VIEWS[path])
    if path in REFUSED:
        return refused_module(path)
    module: Any = importlib.import_module(FACADE)
    for part in path.split(".") if path else ():
        module = getattr(module, part, None)
    if isinstance(module, ModuleType):
        return module
    try:
        return importlib.import_module(f"{FACADE}.{path}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{FACADE}.{path}".startswith(error.name):
            raise
        problem = f"No module named '{NAME}.{path}': graphir's MXNet has no such module"
        raise ModuleNotFoundError(problem, name=f"{NAME}.{path}") from error


class Finder(MetaPathFinder, Loader):
    """What answers imports of `mxnet` and of all below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the place of a module of MXNet, None for any other name."""
        is_mxnet = fullname.partition(".")[0] == NAME
        is_view = fullname.startswith(f"{FACADE}.") and fullname.removeprefix(f"{FACADE}.") in VIEWS
        # `from mxnet.io import io` looks for a view below the facade; `image.image` without it is a script's own.
        return ModuleSpec(fullname, self, is_package=True) if is_mxnet or is_view else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the facade's module into the place of an empty one."""
        name = module.__name__
        facade = resolve(name.removeprefix(FACADE).removeprefix(NAME).removeprefix("."))
        if not hasattr(facade, "__path__"):
            facade.__path__ = []  # without it nothing below it is looked for
        sys.modules[name] = facade


def install() -> None:
    """Make `import mxnet` mean this package from here on. Raises ImportError if another mxnet is imported already."""
    module = sys.modules.get(NAME)
    if module is not None and module.__name__ != FACADE:
        raise ImportError(
            f"{NAME} is imported already, from {getattr(module, '__file__', 'elsewhere')}: import {FACADE}.install "
            "before the first import of mxnet, or run the script by python -m graphir.mxnet"
        )
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())

"""The model under test: an ONNX file or a graph, run by onnxruntime with any of its values as outputs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..graph import Graph
from .session import Session


class OnnxCandidate:
    """An .onnx file, or a graph written to one, whose inner values can be asked for.

    Use it as a context manager: files that it makes go with it. `label` says what runs it and where.
    """

    def __init__(
        self,
        model: Graph | str | os.PathLike[str],
        *,
        providers: str | Sequence[str] = "cpu",
        optimize: bool = True,
        opset: int | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="graphir-")
        self._providers = providers
        self._optimize = optimize
        if isinstance(model, Graph):
            from graphir.converters.onnx import save

            path = Path(self._folder.name) / "model.onnx"
            save(model, path, opset=opset)
        else:
            path = Path(model)
        self.path = path
        self._session: Session | None = None
        self._extended: list[Path] = []

    def __enter__(self) -> OnnxCandidate:
        return self

    def __exit__(self, *exception: object) -> None:
        self._session = None
        for path in self._extended:
            path.unlink(missing_ok=True)
        self._folder.cleanup()

    @property
    def session(self) -> Session:
        """The session on the model as it is."""
        if self._session is None:
            self._session = Session(self.path, providers=self._providers, optimize=self._optimize)
        return self._session

    @property
    def label(self) -> str:
        """What runs the model."""
        from .session import import_onnxruntime

        version = import_onnxruntime().__version__
        names = ", ".join(name.removesuffix("ExecutionProvider") for name in self.session.providers)
        return f"onnxruntime {version} on {names}" + ("" if self._optimize else ", no optimisation")

    def run(
        self, feeds: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None = None
    ) -> dict[str, NDArray[Any]]:
        """The outputs, or those values of the model that are named."""
        own = self.session.outputs
        inner = [name for name in outputs or () if name not in own]
        if not inner:
            return self.session.run(feeds, outputs)
        return self._with_outputs(inner).run(feeds, outputs)

    def _with_outputs(self, names: Sequence[str]) -> Session:
        """A session on the model with more outputs.

        Protobuf merges what is appended to a message, so a copy of the file with the new outputs behind it is the model
        with these outputs. It stands beside the original where external data is looked up.
        """
        from graphir.converters.onnx.writer import output_addition

        with tempfile.NamedTemporaryFile(
            prefix=".graphir-", suffix=".onnx", dir=self.path.parent, delete=False
        ) as extended:
            place = Path(extended.name)
            self._extended.append(place)
            with open(self.path, "rb") as source:
                shutil.copyfileobj(source, extended, 4 << 20)
            extended.write(output_addition(names))
        try:
            return Session(place, providers=self._providers, optimize=self._optimize)
        finally:
            place.unlink(missing_ok=True)


__all__ = ["OnnxCandidate"]

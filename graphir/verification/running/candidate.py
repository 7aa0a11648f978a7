"""The model under test: an ONNX file or a graph, run by onnxruntime with any of its values as outputs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.arrays import Array
from graphir.converters.session import lean_session, quiet_session
from graphir.errors import FormatError, VerificationError
from graphir.graph import Graph
from graphir.runtime.providers import PROVIDERS, import_onnxruntime, provider_names
from graphir.runtime.session import OnnxSession
from graphir.safety.isolation import subject
from graphir.safety.memory import return_memory, return_memory_at_once
from graphir.verification.options import MEMORY_BUDGET
from graphir.verification.running.heads import beside_outputs

from .layouts import Fitting, Keys, as_arrays, fit_inputs, fitted_feeds
from .slices import HELD_OF_EACH, SMALL_BUDGET, STARTING, RecentRuns, held_at_once, in_slices

if TYPE_CHECKING:
    from graphir.converters.onnx.files.mapped import Mapped
    from graphir.converters.onnx.files.structure import Structure

IN_MEMORY_BELOW = 64 << 20
# Sessions for inner values that are kept: what is asked for set after set, the heads and a slice of layers or two.
SESSIONS_KEPT = 4
# What outputs, heads and the layers before them give is asked for more than once. Results are kept of so many feeds and
# kinds of sessions: feeds as they are, three that rounding moved and some that are moved by more, of each what takes no
# more than this share of the budget. What two sessions compute differs by rounding, and is kept apart.
RUNS_KEPT = 8
KEPT_SHARE = 128
# A comparison is to take 1.5 times the weights and the budget at most. Weights that stay mapped are in memory three
# times, of both models and in the layout that suits the processor, and values take up to half of the budget.
MAPPED = 3
Kind = tuple[str, ...]
OUTPUTS: Kind = ("outputs",)


class OnnxCandidate:
    """An .onnx file, or a graph written to one, whose inner values can be asked for.

    `memory` is what a comparison may take beside the weights, in bytes.

    Use it as a context manager: files that it makes go with it. Nothing is ever written beside the user's model.
    """

    role = "the candidate"

    def __init__(
        self,
        model: Graph | str | os.PathLike[str],
        *,
        providers: str | Sequence[str] = "cpu",
        optimize: bool = True,
        opset: int | None = None,
        memory: int = MEMORY_BUDGET,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="graphir-", ignore_cleanup_errors=True)
        self.providers = providers
        self._optimize = optimize
        if isinstance(model, Graph):
            from graphir.converters.onnx import save

            path = Path(self._folder.name) / "model.onnx"
            save(model, path, opset=opset, weights="external")
        else:
            path = Path(model)
        self.path = path
        self.memory = memory
        self._sizes: dict[tuple[tuple[str, tuple[int, ...]], ...], dict[str, int]] = {}
        self._extended: dict[tuple[str, ...], OnnxSession] = {}
        # Which feed each input takes, and how.
        self.fitting: Fitting = {}
        self._twin: OnnxCandidate | None = None
        self._opened: tuple[str, ...] = ()
        self._turns = False
        self.keys: dict[str, Keys] = {}
        self._recent = RecentRuns(memory // KEPT_SHARE, RUNS_KEPT)

    def __enter__(self) -> OnnxCandidate:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the sessions and the files go."""
        self._extended, self._recent = {}, RecentRuns(0, RUNS_KEPT)
        if self._twin is not None:
            self._twin.close()
            self._twin = None
        for name in ("session", "_mapped"):
            self.__dict__.pop(name, None)
        self._folder.cleanup()

    @cached_property
    def session(self) -> OnnxSession:
        """The session on the model as it is, with values before heads put aside that it gives as well (see
        `beside_outputs`); what is wrong with a file is said of the file itself."""
        from graphir.converters.onnx.files.messages import output_addition

        aside = self._extra_values()
        if self._mapped is not None or aside:
            with suppress(VerificationError):
                session = self._start_session(self._model_with(output_addition(aside)))
                session.put_aside(aside)
                return session
        return self._start_session(self.path)

    def _extra_values(self) -> list[str]:
        """Return the values that the session of the model gives beside its outputs."""
        if self._optimize and list(provider_names(self.providers)) != [PROVIDERS["cpu"]]:
            return []
        try:
            structure = self.structure
        except FormatError:
            return []  # onnxruntime is to say what is wrong with it
        is_small = self.path.stat().st_size < IN_MEMORY_BELOW
        is_local = not structure.external or self.path.parent == Path(self._folder.name)
        return beside_outputs(structure, optimized=self._optimize) if self._mapped or (is_small and is_local) else []

    @cached_property
    def _mapped(self) -> Mapped | None:
        """The model with its weights where they lie, which all sessions share."""
        from graphir.converters.onnx.files.mapped import mapped_model

        return mapped_model(self.path)

    def _start_session(self, model: bytes | Path, *, lean: bool | None = None) -> OnnxSession:
        """Return a session on the model, the folder of its external data known. One that is `lean`, or else not
        optimised, runs a few times: see `lean_session`. So does one for which the budget has no room: optimising takes
        a copy of the weights beyond the one that stays."""
        external = self.path.absolute().parent if self._mapped is None else self._mapped.weights
        if self._mapped is not None:
            if self.memory < max(STARTING * self.weight_bytes, SMALL_BUDGET):
                return_memory_at_once()
            self._mapped.weights.are_dropped = MAPPED * self.weight_bytes > self.memory
        optimize = self._optimize if lean is None else not lean
        with subject(self.role if self.path.parent == Path(self._folder.name) else f"{self.role} {self.path.name}"):
            if not optimize or self.is_tight:
                return lean_session(model, self.providers, external, optimize=optimize, is_part=lean is not None)
            session = quiet_session(model, self.providers, external, packed=lean is None)
        return_memory(self.path.stat().st_size)
        return session

    @property
    def is_tight(self) -> bool:
        """Whether the weights are larger than the budget of memory: then they are not copied into the order that suits
        the processor, and what fuses nodes only for that is left out."""
        return self.weight_bytes > self.memory

    @cached_property
    def weight_bytes(self) -> int:
        """The bytes of the model's weights. Raises FormatError for what is no ONNX model."""
        from graphir.converters.onnx.files.value_sizes import weight_bytes

        return weight_bytes(self.path)

    @cached_property
    def structure(self) -> Structure:
        """The model's names and operators."""
        from graphir.converters.onnx.files.structure import read_structure

        return read_structure(self.path)

    @property
    def label(self) -> str:
        """What runs the model and where; with the number of nodes on each provider if there are several."""
        placement = self.session.placement() if len(self.session.providers) > 1 else {}
        names = [
            name.removesuffix("ExecutionProvider") + (f" ({placement.get(name, 0)} nodes)" if placement else "")
            for name in self.session.providers
        ]
        version = import_onnxruntime().__version__
        plugins = f", {', '.join(self.session.computed)} by the plugin's own numpy" if self.session.computed else ""
        return f"onnxruntime {version} on {', '.join(names)}{plugins}" + ("" if self._optimize else ", no optimisation")

    @property
    def twin(self) -> OnnxCandidate:
        """The same file with onnxruntime's optimisations the other way, fed alike; made when it is first asked for and
        closed with this one. Inner values, which are computed without optimisations, it computes with them."""
        if self._twin is None:
            optimize = not self._optimize
            self._twin = OnnxCandidate(self.path, providers=self.providers, optimize=optimize, memory=self.memory)
            self._twin._turns, self._twin.role = True, self.role
            self._twin.__dict__ |= {"structure": self.structure, "_mapped": self._mapped}
        self._twin.fitting = self.fitting
        return self._twin

    def open_weights(self, names: Sequence[str]) -> None:
        """Let these weights be fed from now on; without that they have their own values. Each can be asked for."""
        if tuple(names) != self._opened:
            self._opened = tuple(names)
            self._extended = {}

    def fit(self, feeds: Mapping[str, Array], stated: Fitting | None = None) -> list[str]:
        """Take feeds like these, which another model's inputs are named after; the notes say how (see `fit_inputs`)."""
        self.fitting, notes = fit_inputs(feeds, self.session.inputs, stated)
        return notes

    def run(
        self,
        feeds: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        weights: Mapping[str, Array] | None = None,
        extra: Collection[str] = (),
    ) -> dict[str, Array]:
        """Return the outputs, or those values of the model that are named, with other values of opened `weights`; those
        that are `extra` come from the session that gives the others. Raises VerificationError for a name that it lacks.

        Each call is a run of its own; see `run_cached`.
        """
        feeds = {**fitted_feeds(self.fitting, feeds), **(weights or {})}
        aside = () if self._opened else self.session.aside
        if not self._opened and all(name in self.session.outputs or name in aside for name in outputs or ()):
            results = as_arrays(self.session.run(feeds, outputs), self.keys)
            if self._optimize and self.is_tight and not self.structure.drawn:
                self.session.release()  # fused weights are copies, for which the other model's weights need the room
            return results
        given_outputs = self.structure.outputs if self._opened else self.session.outputs
        inner = list(dict.fromkeys(name for name in outputs or () if name not in given_outputs))
        known = (self.structure.producers, self._opened)
        absent = [name for name in inner if not any(name in names for names in known)]
        if absent:
            raise VerificationError(f"{self.path.name} computes no value {', '.join(absent)}")
        session = self._session_with_outputs(inner, self._runs_optimised(inner, extra))
        return as_arrays(session.run(feeds, outputs), self.keys)

    def _result_kind(self, inner: Collection[str], turned: bool) -> Kind:
        """Return what results of a session for values inside can be put beside others: all that are computed without
        optimisations. With them it is the values that are asked for which prevent some."""
        return ("inside", *self._opened, *(("turned", *sorted(inner)) if turned else ()))

    def run_cached(
        self, feeds: Mapping[str, Array], names: Sequence[str], extra: Collection[str] = ()
    ) -> dict[str, Array]:
        """Return the same as `run`, without another run where the last one of this kind, on these very feeds, gave
        small values of these names. A run for outputs gives the others that were small in the last one too."""
        given = set() if self._opened else {*self.session.outputs, *self.session.aside}
        is_given = set(names) <= given
        inner = [name for name in dict.fromkeys(names) if name not in self.session.outputs]
        kind = OUTPUTS if is_given else self._result_kind(inner, self._runs_optimised(inner, extra))
        results = self._recent.of(feeds, (self.fitting, kind))
        if not all(name in results for name in names):
            small = self._recent.last(lambda other: other[1] == OUTPUTS) if is_given else ()
            wanted = list(dict.fromkeys([*names, *(name for name in small if name in given)]))
            results = self.run(feeds, wanted, None, extra)
            self._recent.keep(feeds, results, (self.fitting, kind))
        return {name: results[name] for name in names}

    def larger(self, feeds: Mapping[str, Array], most: int) -> set[str]:
        """Return the values that are known to take more than so many bytes."""
        return {name for name, size in self._sizes_for(feeds).items() if size > most}

    def slices(
        self, names: Iterable[str], feeds: Mapping[str, Array], most: int, known: Mapping[str, int] | None = None
    ) -> list[list[str]]:
        """Return the names in parts whose values take at most so many bytes; one that takes more is alone. Sizes that
        are `known` go before those that shapes tell."""
        return in_slices(names, {**self._sizes_for(feeds), **(known or {})}, most)

    def beyond_budget(self, feeds: Mapping[str, Array], *, per_layer: bool) -> str:
        """Return what is to be said where what cannot be cut into parts takes more than the budget: a run, and each
        value that is compared; nothing where the budget holds."""
        sizes = self._sizes_for(feeds)
        most = held_at_once(self.structure, sizes)
        if per_layer:
            most = max(most, HELD_OF_EACH * max(sizes.values(), default=0))
        if most <= self.memory:
            return ""
        return (
            f"the memory budget of {self.memory / 1e6:,.0f} MB does not hold: values that are needed at the same time "
            f"take {most / 1e6:,.0f} MB; a smaller batch takes less"
        )

    def has_room(self, feeds: Mapping[str, Array], copies: int) -> bool:
        """Return whether the budget has room for a run, and for so many copies of its largest value."""
        sizes = self._sizes_for(feeds)
        return held_at_once(self.structure, sizes) + copies * max(sizes.values(), default=0) <= self.memory

    def about_budget(self) -> str:
        """Return what is to be said of a candidate that is run with less optimisation than onnxruntime is capable of;
        nothing where it is not."""
        if not self.is_tight or not self._optimize:
            return ""
        return (
            f"the weights are larger than the memory budget of {self.memory / 1e6:,.0f} MB: onnxruntime optimises the "
            "candidate without changing their layout (a larger --memory-budget lets it)"
        )

    def _sizes_for(self, feeds: Mapping[str, Array]) -> dict[str, int]:
        shapes = {name: tuple(array.shape) for name, array in fitted_feeds(self.fitting, feeds).items()}
        key = tuple(sorted(shapes.items()))
        if key not in self._sizes:
            from graphir.converters.onnx.files.value_sizes import value_sizes

            self._sizes[key] = value_sizes(self.path, shapes)
        return self._sizes[key]

    def _session_with_outputs(self, names: Sequence[str], turned: bool) -> OnnxSession:
        """Return a session on the model with more outputs, without optimisations, of which these would prevent some,
        unless it is `turned` (see `twin`); the last ones are kept, or the last where each holds the weights or memory
        is scarce.

        Protobuf merges what is appended to a message, so the model's bytes with the new outputs behind them are the
        model with these outputs. Where weights cannot be mapped, small files, and those whose external data
        onnxruntime has to find, are handed over in memory; others are copied to the temporary folder.
        """
        from graphir.converters.onnx.files.messages import input_addition, output_addition

        key = (*names, "turned" * turned, "", *self._opened)
        session = self._extended.pop(key, None)
        if session is None:
            most = 1 if turned or self._mapped is None or self.is_tight else SESSIONS_KEPT
            while self._extended and len(self._extended) >= most:
                self._extended.pop(next(iter(self._extended)))
            weights, defaults = self.structure.weights, self.structure.defaults
            opened = {name: weights[name] for name in self._opened if name not in defaults}
            model = self._model_with(output_addition(names) + input_addition(opened))
            session = self._start_session(model, lean=not turned)
        self._extended[key] = session
        return session

    def _runs_optimised(self, names: Sequence[str], extra: Collection[str]) -> bool:
        """Return whether this is a twin whose inner values are wanted beside the `extra` ones: its model's are not."""
        return self._turns and any(name in self.structure.producers and name not in extra for name in names)

    def session_with(self, addition: bytes) -> OnnxSession | None:
        """Return a session without optimisations on the model with these bytes of protobuf behind it, which shares the
        weights of the others; None where it would hold them once more."""
        shared = self._mapped is not None or (self.path.stat().st_size < IN_MEMORY_BELOW and not self.is_tight)
        return self._start_session(self._model_with(addition), lean=True) if shared else None

    @property
    def message(self) -> bytes:
        """The serialized model, its weights where they lie if they can be mapped."""
        model = self._model_with(b"")
        return model if isinstance(model, bytes) else model.read_bytes()

    def started_part(self, message: bytes, *, optimize: bool = False) -> OnnxSession:
        """Return a session on a part of the model, without optimisations unless these are asked for."""
        return self._start_session(message, lean=not optimize)

    def _model_with(self, addition: bytes) -> bytes | Path:
        if self._mapped is not None:
            return self._mapped.message + addition
        length = self.path.stat().st_size
        if self.structure.external or length < IN_MEMORY_BELOW:
            return self.path.read_bytes() + addition
        model = Path(self._folder.name) / "extended.onnx"
        if not model.exists():
            shutil.copyfile(self.path, model)
        with open(model, "r+b") as file:
            file.truncate(length)
            file.seek(length)
            file.write(addition)
        return model

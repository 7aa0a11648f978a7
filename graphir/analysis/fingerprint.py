"""Fingerprints of weights, and labels of nodes: what a node is computed from, and what is computed from it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from graphir.analysis.attributes import attributes_of
from graphir.files.regions import FileRegion, SourceFiles
from graphir.graph import Graph, Node, Value
from graphir.ops.elementwise import COMMUTATIVE
from graphir.serial.equal import same_tensor
from graphir.structure.views import captured
from graphir.types import DType

if TYPE_CHECKING:
    from numpy import ndarray

    from graphir.tensor import Tensor


CHUNK = 1 << 16
ODD, ODD_SHORT = 0x9E3779B97F4A7C15, 0x9E3779B1
ROW = 512
WORD = 8
# Bytes at the start, in the middle and at the end of a tensor by which most are told apart.
SAMPLE = 1024
# So many tensors of one sample are compared with each other, further ones are hashed.
ALIKE = 4


class Fingerprints:
    """Fingerprints and digests of tensors, each computed once."""

    def __init__(self) -> None:
        # The tensors are held too, so that no other one gets the number of one that is gone.
        self._held: dict[tuple[Hashable, bool], tuple[Tensor, Hashable]] = {}
        self._numbered: dict[Hashable, tuple[Tensor, Hashable]] = {}
        self._alike: dict[Hashable, list[tuple[Tensor, int]]] = {}

    def fingerprint(self, tensor: Tensor) -> Hashable:
        """Return what does not see the order of the elements; see `fingerprint`."""
        return self._of(tensor, ordered=False)

    def digest(self, tensor: Tensor) -> Hashable:
        """Return what sees it; see `digest`."""
        return self._of(tensor, ordered=True)

    def number(self, tensor: Tensor) -> Hashable:
        """Return the same for tensors of one type whose bytes are the same, another one for all others, from these
        fingerprints only. Of most tensors a sample is read; those that are alike are compared, which takes a part of
        what a digest takes. Raises what reading the tensor raises."""
        with SourceFiles() as files:
            return self._number(tensor, files)

    def number_all(self, tensors: Iterable[Tensor]) -> None:
        """Number tensors whose files are opened once for all of them. Raises what `number` raises."""
        with SourceFiles() as files:
            for tensor in tensors:
                self._number(tensor, files)

    def _number(self, tensor: Tensor, files: SourceFiles) -> Hashable:
        if tensor.dtype is DType.STRING:
            return self.digest(tensor)
        key = _key(tensor)
        if key not in self._numbered:
            alike = self._alike.setdefault((str(tensor.type), tuple(_sample(tensor, files))), [])
            result: Hashable = next((number for other, number in alike if same_tensor(tensor, other, files)), None)
            if result is None and len(alike) < ALIKE:
                result = len(self._numbered)
                alike.append((tensor, result))
            self._numbered[key] = tensor, self.digest(tensor) if result is None else result
        return self._numbered[key][1]

    def same(self, left: Tensor, right: Tensor) -> bool:
        """Return whether two tensors have the same dtype, shape and bytes; not read where that is known."""
        ours, theirs = (self._numbered.get(_key(tensor), (tensor, None))[1] for tensor in (left, right))
        return (isinstance(ours, int) and ours == theirs) or same_tensor(left, right)

    def _of(self, tensor: Tensor, *, ordered: bool) -> Hashable:
        numbered = self._numbered.get(_key(tensor))
        key = (_key(tensor) if numbered is None else ("number", numbered[1])), ordered
        if key not in self._held:
            self._held[key] = tensor, digest(tensor) if ordered else fingerprint(tensor)
        return self._held[key][1]


def _key(tensor: Tensor) -> Hashable:
    location = tensor.place
    return id(tensor) if location is None else (location, tensor.type)


def _sample(tensor: Tensor, files: SourceFiles) -> Iterator[bytes]:
    """Some bytes of a tensor, wherever they lie."""
    region = tensor.region
    if region is None:
        content = b"".join(tensor.chunks())
        for start, length in _sample_positions(len(content)):
            yield content[start : start + length]
        return
    for start, length in _sample_positions(region.nbytes):
        yield b"".join(files.pieces(FileRegion(region.path, region.offset + start, length, region.stamp)))


def _sample_positions(size: int) -> list[tuple[int, int]]:
    """Return where samples begin and how long they are."""
    length = min(SAMPLE, size)
    return [(start, length) for start in sorted({0, (size - length) // 2, size - length})]


def digest(tensor: Tensor) -> Hashable:
    """Differs, with near certainty, for tensors whose elements or their order differ; linear, at the speed of memory.

    What is hashed are the sums of the rows and of the columns of the bytes, taken as 64-bit numbers in rows of 512.
    Raises what reading the tensor raises.
    """
    import numpy as np

    if tensor.dtype is DType.STRING:
        return fingerprint(tensor)
    hasher = hashlib.blake2b(str(tensor.type).encode(), digest_size=16)
    for chunk in tensor.chunks():
        whole = len(chunk) // (ROW * WORD) * ROW
        table = np.frombuffer(chunk, np.uint64, whole).reshape(-1, ROW)
        for axis in (0, 1):
            hasher.update(table.sum(axis=axis, dtype=np.uint64).tobytes())
        hasher.update(chunk[whole * WORD :])
    return hasher.digest()


def fingerprint(tensor: Tensor) -> tuple[str, int, int, int]:
    """dtype, number of elements, and 64-bit sums over the bits of the elements and over these mixed, in any order.

    Equal for tensors whose elements are the same, however often each comes, whatever the shape and the order of axes;
    different with near certainty for all others. -0 counts as 0. Holds one tensor at a time; linear in its elements.
    Raises what reading the tensor raises.
    """
    import numpy as np

    if tensor.dtype is DType.STRING:
        texts = sorted(str(element) for element in tensor.numpy().reshape(-1).tolist())
        return tensor.dtype.value, tensor.size, hash(tuple(texts)) & (2**64 - 1), 0
    flat = np.ascontiguousarray(tensor.numpy()).reshape(-1)
    sums = [0, 0]
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        if part.dtype.kind == "f":
            part = part + part.dtype.type(0)
        bits = part.view(np.uint32) if part.dtype.itemsize == 4 else _bits(part)
        sums[0] += int(bits.sum(dtype=np.uint64))
        mix = _mix_short_bits if part.dtype.itemsize == 4 else _mix_bits
        sums[1] += int(mix(bits).sum(dtype=np.uint64))
    return tensor.dtype.value, tensor.size, sums[0] & (2**64 - 1), sums[1] & (2**64 - 1)


def _bits(part: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """Return the elements' bits as 64-bit numbers."""
    import numpy as np

    if part.dtype.itemsize == 16:
        halves = part.view(np.uint64).reshape(-1, 2)
        folded: ndarray[Any, Any] = _mix_bits(halves[:, 0]) + halves[:, 1]
        return folded
    bits: ndarray[Any, Any] = part.view(f"u{part.dtype.itemsize}").astype(np.uint64)
    return bits


def _mix_bits(bits: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """Return each number multiplied and folded, so that sums of mixed numbers do not meet by accident."""
    import numpy as np

    mixed = (bits + np.uint64(ODD)) * np.uint64(ODD)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


def _mix_short_bits(bits: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """Return the same for 32-bit numbers, which most weights are: four times as fast."""
    import numpy as np

    mixed = bits * np.uint32(ODD_SHORT)
    mixed ^= mixed >> np.uint32(15)
    mixed *= np.uint32(0x85EBCA77)
    return mixed ^ (mixed >> np.uint32(13))


def exact_labels(
    graph: Graph, around: Mapping[Value, int] | None, prints: Fingerprints
) -> dict[Node, int]:
    """Return the label of every node. `around` holds labels of inputs and of values outside that the graph may use.

    Other inputs, and outputs, are known by their place. Labels of two graphs mean the same if they are made with the
    same `prints`. Linear in nodes and weights.
    """
    origins = _origins(graph, around or {}, prints)
    uses: dict[Node, list[int]] = defaultdict(list)
    for index, result in enumerate(graph.outputs):
        if result.producer is not None:
            uses[result.producer].append(hash(("output", index, result.index)))
    labels: dict[Node, int] = {}
    for node in reversed(list(graph.nodes)):
        fate = hash(tuple(sorted(uses[node])))
        label = labels[node] = hash((origins[node.outputs[0]] if node.outputs else 0, fate))
        for slot, value in enumerate(node.inputs):
            if value is not None and value.producer is not None:
                at = -1 if type(node.op) in COMMUTATIVE else slot
                uses[value.producer].append(hash((label, at, value.index)))
    return labels


def _origins(graph: Graph, around: Mapping[Value, int], prints: Fingerprints) -> dict[Value, int]:
    """Return what every value is computed from, as one number."""
    origins = {value: hash(("input", index)) for index, value in enumerate(graph.inputs)} | dict(around)
    prints.number_all(value.tensor for value in graph.parameters if value.tensor is not None)
    for value in graph.parameters:
        number = None if value.tensor is None else prints.number(value.tensor)
        origins[value] = hash(("parameter", str(value.type), number))
    for node in graph.nodes:
        read = [origins.get(value, 0) if value is not None else None for value in node.inputs]
        operands = tuple(sorted(read, key=str) if type(node.op) in COMMUTATIVE else read)
        inner = tuple(_result(subgraph, origins, prints) for subgraph in node.subgraphs)
        origin = hash((node.op.name, repr(attributes_of(node)), operands, inner))
        origins.update({value: hash((origin, value.index)) for value in node.outputs})
    return origins


def _result(graph: Graph, around: Mapping[Value, int], prints: Fingerprints) -> tuple[int, ...]:
    """Return what a subgraph gives."""
    read = {value: around[value] for value in captured(graph) if value in around}
    origins = _origins(graph, read, prints)
    return tuple(origins.get(value, 0) for value in graph.outputs)

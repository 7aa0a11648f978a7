"""Which nodes of a symbol may give sparse arrays, as far as the symbol tells."""

from __future__ import annotations

from graphir.converters.mxnet.files.records import NNVMGraph

DENSE, ROWS, MATRIX = "default", "row_sparse", "csr"
STORAGE_TYPE = "__storage_type__"
NUMBERED = {"-1": DENSE, "0": DENSE, "1": ROWS, "2": MATRIX}


def sparse_nodes(source: NNVMGraph) -> frozenset[int]:
    """Casts to a sparse array, variables declared so, and all that depend on those, up to casts to a dense one."""
    results: set[int] = set()
    for index, record in enumerate(source.nodes):
        if record.op == "cast_storage":
            sparse = record.attrs.get("stype") != DENSE
        else:
            declared = NUMBERED.get(record.annotations.get(STORAGE_TYPE, "0")) != DENSE
            sparse = declared or any(read in results for read, _ in record.inputs)
        if sparse:
            results.add(index)
    return frozenset(results)

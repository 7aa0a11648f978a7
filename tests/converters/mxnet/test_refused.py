"""What cannot be said is refused with its own reason, and stands in no table of what can be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import graphir
from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.ops.refused import REASONS, TRAINING, TRAINING_ONLY
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.mxnet.schema.registry import canonical_names
from tests.equivalence.case import Case, case, data, values


def test_names_are_canonical_and_not_imported() -> None:
    assert set(REASONS) <= set(canonical_names().values())
    assert not set(REASONS) & set(import_table())
    assert {REASONS[name] for name in TRAINING} == {TRAINING_ONLY}
    assert {name for name in canonical_names().values() if name.endswith("_update")} <= {*TRAINING, "_npx_index_update"}


@pytest.mark.parametrize("operator", ["_cvimdecode", "_image_random_flip_top_bottom"])
def test_the_error_gives_the_reason(operator: str, tmp_path: Path) -> None:
    data = {"op": "null", "name": "data", "inputs": []}
    nodes = [data, {"op": operator, "name": "pixels", "inputs": [[0, 0, 0]]}]
    symbol = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]}
    path = tmp_path / "decoder-symbol.json"
    path.write_text(json.dumps(symbol))
    with pytest.raises(graphir.GraphirError) as caught:
        graphir.load(path)
    assert REASONS[operator] in str(caught.value)
    assert "pixels" in str(caught.value)


UNDEFINED = (
    case("_contrib_DeformablePSROIPooling", "no_group", data(1, 18, 5, 5),
         values(0, 0, 0, 9, 9, shape=(1, 5), name="rois"),
         spatial_scale=0.5, output_dim=2, pooled_size=3, group_size=0, no_trans=True),
    case("_contrib_Proposal", "scale_0", data(1, 4, 3, 4, name="cls_prob"), data(1, 8, 3, 4, name="bbox_pred"),
         values(48, 64, 1, shape=(1, 3), name="im_info"), scales=(2, 0), ratios=(1,)),
    case("_contrib_interleaved_matmul_selfatt_valatt", "attention_of_others",
         data(6, 1, 24, name="queries_keys_values"), data(7, 6, 6, name="attention"), heads=1),
    replace(case("_full", "no_shape", value=2.5), np_shape=True),
    case("col2im", "pad_below_0", data(1, 18, 6), output_size=(6, 7), kernel=(2, 3), stride=(3, 2), pad=(-2, 3)),
)  # fmt: skip


@pytest.mark.parametrize("undefined", UNDEFINED, ids=lambda case: case.name)
def test_what_mxnet_computes_from_nothing_is_refused_on_both_roads(undefined: Case) -> None:
    """Memory before an array, 0 / 0 as the side of a box, an array of unknown axes, attention of another batch, a
    pad below 0."""
    symbol, arrays = undefined.symbol_json(), undefined.arrays()
    with pytest.raises(graphir.GraphirError, match=undefined.op):
        from_symbol(symbol, shapes=undefined.shapes())
    with pytest.raises(graphir.GraphirError, match=undefined.op):
        list(evaluate(read_symbol(symbol), arrays))

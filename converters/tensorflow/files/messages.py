"""The protobuf messages of TensorFlow's files, as far as they are read: which fields each has.

One line a message: fields as `name kind number`. A kind is a scalar, `DataType` (its number), or another message; `*`
marks a repeated field, `{}` a map from strings. `blob` is bytes that stay where they lie, `any` what is skipped.
Field numbers are those of tensorflow/core/framework/*.proto and tensorflow/core/protobuf/*.proto.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

_MESSAGES = """
GraphDef: node NodeDef* 1, library FunctionDefLibrary 2, version int 3, versions VersionDef 4, debug_info any 5
VersionDef: producer int 1, min_consumer int 2, bad_consumers int* 3
NodeDef: name string 1, op string 2, input string* 3, device string 4, attr AttrValue{} 5,
 experimental_debug_info any 6, experimental_type any 7
AttrValue: list ListValue 1, s bytes 2, i int 3, f float 4, b bool 5, type DataType 6, shape TensorShapeProto 7,
 tensor TensorProto 8, placeholder string 9, func NameAttrList 10
ListValue: s bytes* 2, i int* 3, f float* 4, b bool* 5, type DataType* 6, shape TensorShapeProto* 7,
 tensor TensorProto* 8, func NameAttrList* 9
NameAttrList: name string 1, attr AttrValue{} 2
TensorShapeProto: dim Dim* 2, unknown_rank bool 3
Dim: size int 1, name string 2
TensorProto: dtype DataType 1, tensor_shape TensorShapeProto 2, version_number int 3, tensor_content blob 4,
 float_val float* 5, double_val double* 6, int_val int* 7, string_val bytes* 8, scomplex_val float* 9,
 int64_val int* 10, bool_val bool* 11, dcomplex_val double* 12, half_val int* 13, resource_handle_val any* 14,
 variant_val any* 15, uint32_val uint* 16, uint64_val uint* 17, float8_val bytes 18
FunctionDefLibrary: function FunctionDef* 1, gradient any* 2, registered_gradients any* 3
FunctionDef: signature OpDef 1, node_def NodeDef* 3, ret string{} 4, attr AttrValue{} 5, control_ret string{} 6,
 arg_attr any* 7, resource_arg_unique_id any* 8
OpDef: name string 1, input_arg ArgDef* 2, output_arg ArgDef* 3, attr any* 4, summary string 5, description string 6,
 deprecation any 8, is_aggregate bool 16, is_stateful bool 17, is_commutative bool 18,
 allows_uninitialized_input bool 19, control_output string* 20, is_distributed_communication bool 21
ArgDef: name string 1, description string 2, type DataType 3, type_attr string 4, number_attr string 5,
 type_list_attr string 6, handle_data any* 7, is_ref bool 16, experimental_full_type any 17
SavedModel: saved_model_schema_version int 1, meta_graphs MetaGraphDef* 2
MetaGraphDef: meta_info_def MetaInfoDef 1, graph_def GraphDef 2, saver_def any 3, collection_def any* 4,
 signature_def SignatureDef{} 5, asset_file_def any* 6, object_graph_def SavedObjectGraph 7
MetaInfoDef: meta_graph_version string 1, stripped_op_list any 2, any_info any 3, tags string* 4,
 tensorflow_version string 5, tensorflow_git_version string 6, stripped_default_attrs bool 7,
 function_aliases any* 8
SignatureDef: inputs TensorInfo{} 1, outputs TensorInfo{} 2, method_name string 3, defaults any* 4
TensorInfo: name string 1, dtype DataType 2, tensor_shape TensorShapeProto 3, coo_sparse any 4, composite_tensor any 5
SavedObjectGraph: nodes SavedObject* 1, concrete_functions any* 2
SavedObject: children any* 1, slot_variables any* 3, user_object any 4, asset any 5, function any 6,
 variable SavedVariable 7, bare_concrete_function any 8, constant any 9, resource any 10
SavedVariable: dtype DataType 1, shape TensorShapeProto 2, trainable bool 3, synchronization any 4, aggregation any 5,
 name string 6
TrackableObjectGraph: nodes TrackableObject* 1
TrackableObject: children any* 1, attributes SerializedTensor* 2, slot_variables any* 3
SerializedTensor: name string 1, full_name string 2, checkpoint_key string 3
BundleHeaderProto: num_shards int 1, endianness int 2, version VersionDef 3
BundleEntryProto: dtype DataType 1, shape TensorShapeProto 2, shard_id int 3, offset int 4, size int 5, crc32c any 6,
 slices TensorSliceProto* 7
TensorSliceProto: extent Extent* 1
Extent: start int 1, length int 2
"""
SCALARS = frozenset({"string", "bytes", "blob", "bool", "int", "uint", "float", "double", "DataType", "any"})


@dataclass(frozen=True, slots=True)
class MessageField:
    """One field of a message. `kind` is one of `SCALARS` or the name of a message."""

    name: str
    kind: str
    number: int
    repeated: bool = False
    is_map: bool = False


@functools.cache
def messages() -> dict[str, dict[int, MessageField]]:
    """Return the fields of every message, by number."""
    by_message: dict[str, dict[int, MessageField]] = {}
    for line in _MESSAGES.strip().replace("\n ", " ").splitlines():
        name, _, fields = line.partition(":")
        by_message[name] = {}
        for text in fields.split(","):
            field = _field(*text.split())
            by_message[name][field.number] = field
    return by_message


@functools.cache
def fields_by_name(message: str) -> dict[str, MessageField]:
    """Return the fields of a message, by name."""
    return {field.name: field for field in messages()[message].values()}


def _field(name: str, kind: str, number: str) -> MessageField:
    return MessageField(name, kind.rstrip("*{}"), int(number), kind.endswith("*"), kind.endswith("{}"))

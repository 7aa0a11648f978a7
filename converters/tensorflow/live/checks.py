# mypy: ignore-errors
# ruff: noqa: UP031
# This runs where TensorFlow is, in Python 3.5 too.
"""What live TensorFlow may run of a stranger's model: an allow-list of operators and layers, and the part of a graph
that passed it. Works on TensorFlow's own protobuf messages and on Keras's configurations; imports nothing of graphir.
"""

import re

PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
# Operators that only print: they are let run, printing nothing.
SILENCED = ("PrintV2",)
# Attributes that say where and with which settings a node runs, not what it computes.
SETTINGS = ("_class", "config", "config_proto", "executor_type")
# What Keras would read of a model, or of any part of it, besides what it computes.
UNUSED = ("compile_config", "build_config")
MODULES = re.compile(r"(keras|tf_keras|tensorflow\.(python\.)?keras|builtins)(\.\w+)*")


class RefusedModel(Exception):
    """A model that is not run, and why."""


def node_of(reference):
    """Return the node that an input (`x`, `x:1`, `^x`) names."""
    return reference.lstrip("^").partition(":")[0]


def tensor_of(reference):
    """Return an input with its slot; control inputs as they are."""
    return reference if ":" in reference or reference.startswith("^") else reference + ":0"


def needed(nodes, wanted, fed):
    """Return the names of the nodes that run when the tensors are wanted: over data and control inputs, up to what is
    fed."""
    names = set()
    pending = [reference for reference in wanted if tensor_of(reference) not in fed]
    while pending:
        name = node_of(pending.pop())
        if name in names:
            continue
        if name not in nodes:
            raise RefusedModel("the graph has no node " + name)
        names.add(name)
        pending += [reference for reference in nodes[name].input if tensor_of(reference) not in fed]
    return names


def called(node, functions):
    """Return the functions that a node names: as its operator, which functions come before, or anywhere in its
    attributes."""
    names = {node.op} & functions.keys()
    pending = list(node.attr.values())
    while pending:
        value = pending.pop()
        for function in (value.func, *value.list.func):
            if function.name:
                names.add(function.name)
                pending += function.attr.values()
    return names


def reached_functions(nodes, functions, allowed):
    """Return the functions that the nodes call, and those that these call. Raises Refused, with all of them, for
    operators that are not allowed."""
    reached = set()
    refused = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        for name in called(node, functions) - reached:
            if name not in functions:
                raise RefusedModel("node %s calls the function %s, which is not in the library" % (node.name, name))
            reached.add(name)
            pending += functions[name].node_def
        if node.op not in functions and node.op not in allowed:
            refused.setdefault(node.op, []).append(node.name)
    if refused:
        shown = "; ".join("%s (%s)" % (op, ", ".join(names[:3])) for op, names in sorted(refused.items()))
        raise RefusedModel("operators that are not on the list of those without effects: " + shown)
    return reached


def part_of(graph, keep, functions):
    """Return a graph of these nodes and functions only, on no particular device, without settings of its own."""
    part = type(graph)()
    part.versions.CopyFrom(graph.versions)
    part.node.extend(node for node in graph.node if node.name in keep)
    part.library.function.extend(library for library in graph.library.function if library.signature.name in functions)
    for node in (*part.node, *(node for library in part.library.function for node in library.node_def)):
        node.device = ""
        for name in SETTINGS:
            node.attr.pop(name, None)
        if node.op in SILENCED:
            node.op = "NoOp"
            node.input[:] = [reference for reference in node.input if reference.startswith("^")]
            node.attr.clear()
    return part


def fed_apart(graph, feeds):
    """Put placeholders in place of fed tensors, in the graph itself, and return the tensor to feed for each.

    `feeds` are types by tensor. What a placeholder gives is fed as it is.
    """
    placeholders = {node.name + ":0" for node in graph.node if node.op in PLACEHOLDERS}
    moved = {}
    for index, (tensor, dtype) in enumerate(feeds.items()):
        if tensor not in placeholders:
            moved[tensor] = "graphir_feed_%d" % index
            graph.node.add(name=moved[tensor], op="Placeholder").attr["dtype"].type = dtype
    for node in graph.node:
        node.input[:] = [moved.get(tensor_of(reference), reference) for reference in node.input]
    return {tensor: moved[tensor] + ":0" if tensor in moved else tensor for tensor in feeds}


def runnable(graph, wanted, feeds, allowed):
    """Return the part of a graph that computes what is wanted, and what to feed for each of the feeds. Raises Refused
    for whatever is not allowed in it."""
    nodes = {node.name: node for node in graph.node}
    functions = {function.signature.name: function for function in graph.library.function}
    placeholders = {node_of(name) for name in feeds} & {node.name for node in graph.node if node.op in PLACEHOLDERS}
    keep = needed(nodes, wanted, set(feeds)) | placeholders
    reached = reached_functions([nodes[name] for name in keep], functions, allowed)
    part = part_of(graph, keep, reached)
    return part, fed_apart(part, feeds)


def cleaned(entry):
    """Return a configuration without what says how models are compiled and layers are built, at any depth."""
    if isinstance(entry, dict):
        return {key: cleaned(value) for key, value in entry.items() if key not in UNUSED}
    return [cleaned(value) for value in entry] if isinstance(entry, list) else entry


def check_keras(entry, classes, functions):
    """Return what of a configuration Keras may see. Raises Refused for one that names a class or function, at any
    depth, that is not Keras's own and known."""
    checked = cleaned(entry)
    pending = [checked]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        if not isinstance(value, dict):
            continue
        name, config = value.get("class_name"), value.get("config")
        if "class_name" in value:
            check_object(value, name, config, classes, functions)
        pending += value.values()
    return checked


def check_object(entry, name, config, classes, functions):
    """Raise Refused unless an object's entry is of a known class in a module of Keras."""
    module, registered = entry.get("module"), entry.get("registered_name")
    known = classes | {"function", "TFOpLambda", "SlicingOpLambda"}
    if not isinstance(name, str) or name not in known or registered not in (None, name):
        raise RefusedModel("the class %r is not on the list of Keras's own" % (registered or name))
    if module is not None and not MODULES.fullmatch(str(module)):
        raise RefusedModel("the class %s of the module %r, which is not Keras's" % (name, module))
    symbol = config if name == "function" else config.get("function") if isinstance(config, dict) else None
    if (name not in classes or symbol is not None) and not (isinstance(symbol, str) and symbol in functions):
        raise RefusedModel("%s names the function %r, which is not on the list" % (name, symbol))

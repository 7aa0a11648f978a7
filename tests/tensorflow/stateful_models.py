"""Run with live TensorFlow: models that keep state, and what three runs of each give.

    stateful_models.py FOLDER

Of each model NAME it writes the SavedModel FOLDER/NAME and FOLDER/NAME.npz: `initial/VARIABLE`, and of step 0, 1 and 2
`N/in/INPUT`, `N/out/OUTPUT` and the variables after it, `N/state/VARIABLE`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

STEPS = 3
SIZE = 3


class Model(tf.Module):
    """A model whose `step` takes a vector; `values` are its variables by name."""

    def __init__(self, step: Callable[..., Any], **values: Any) -> None:
        super().__init__()
        self.held = {name: tf.Variable(value, name=name) for name, value in values.items()}

        @tf.function(input_signature=[tf.TensorSpec([SIZE], tf.float32, "x")])
        def call(x: Any) -> Any:
            return {"y": step(x, **self.held)}

        self.call = call


def zeros(*sizes: int) -> Any:
    return np.zeros(sizes or (SIZE,), np.float32)


def cache(x: Any, rows: Any, at: Any) -> Any:
    rows.scatter_nd_update(tf.reshape(at, [1, 1]), x[None])
    at.assign_add(1)
    return tf.reduce_sum(rows, 0) * 2.0


def decayed(x: Any, c: Any) -> Any:
    c.assign(c * 0.5 + x)
    return c * 2.0


def moving_mean(x: Any, mean: Any) -> Any:
    mean.assign_sub((mean - tf.reduce_mean(x)) * 0.1)
    return x - mean


def in_a_loop(x: Any, total: Any) -> Any:
    for _ in tf.range(4):
        total.assign_add(x)
    return total * 1.0


def result_of_assign(x: Any, c: Any) -> Any:
    return c.assign_add(x) * 3.0


def before_and_after(x: Any, c: Any) -> Any:
    before = c.read_value()
    c.assign(before * 0.5 + x)
    between = c.read_value()
    c.assign_sub(tf.reverse(x, [0]))
    return before + 10.0 * between + 100.0 * c


def in_a_branch(x: Any, c: Any, count: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        c.assign(c + x)
        count.assign_add(1)
    else:
        c.assign(-c)
    return c * tf.cast(count, tf.float32)


def only_written(x: Any, count: Any, last: Any) -> Any:
    count.assign_add(1)
    last.assign(x)
    return x * 2.0


def nested(x: Any, c: Any, count: Any) -> Any:
    @tf.function
    def inner(value: Any) -> Any:
        c.assign_add(value)
        return c + 1.0

    @tf.function
    def outer(value: Any) -> Any:
        count.assign_add(1)
        return inner(value) * inner(value)

    return outer(x) + c


def rows_by_number(x: Any, table: Any) -> Any:
    table.scatter_add(tf.IndexedSlices(tf.stack([x, x]), tf.constant([0, 2])))
    table.scatter_update(tf.IndexedSlices(x[None], tf.constant([1])))
    table.scatter_max(tf.IndexedSlices(-x[None], tf.constant([3])))
    return tf.gather(table, [2, 1, 0, 3])


def slices(x: Any, grid: Any, at: Any) -> Any:
    grid[1:3].assign(tf.stack([x, -x]))
    grid[at, ::2].assign(x[:2])
    at.assign((at + 1) % 4)
    return grid[::-1]


def condition_of_a_loop(x: Any, level: Any) -> Any:
    while tf.reduce_sum(level) < 5.0:
        level.assign(level + tf.abs(x) + 0.5)
        if tf.reduce_max(level) > 4.0:
            level.assign(level * 0.5 + 1.0)
    level.assign_sub(tf.ones_like(level))
    return level + x


def frozen_beside(x: Any, c: Any, weight: Any) -> Any:
    c.assign(tf.linalg.matvec(weight, c) + x)
    return tf.tanh(c) + tf.reduce_sum(weight)


def gathered(x: Any, rows: Any) -> Any:
    rows.scatter_nd_add([[0], [3]], tf.stack([x, 2.0 * x]))
    return tf.concat([rows.sparse_read([3, 1]), rows.gather_nd([[0], [2]])], 0) * tf.cast(tf.shape(rows)[0], tf.float32)


MODELS: dict[str, Callable[[], Model]] = {
    "cache": lambda: Model(cache, rows=zeros(5, SIZE), at=1),
    "decayed": lambda: Model(decayed, c=np.array([1, 2, 3], np.float32)),
    "moving_mean": lambda: Model(moving_mean, mean=np.float32(0.5)),
    "in_a_loop": lambda: Model(in_a_loop, total=zeros()),
    "result_of_assign": lambda: Model(result_of_assign, c=zeros()),
    "before_and_after": lambda: Model(before_and_after, c=np.array([3, 1, 2], np.float32)),
    "in_a_branch": lambda: Model(in_a_branch, c=zeros(), count=1),
    "only_written": lambda: Model(only_written, count=np.int64(7), last=zeros()),
    "nested": lambda: Model(nested, c=zeros(), count=0),
    "rows_by_number": lambda: Model(rows_by_number, table=np.arange(12, dtype=np.float32).reshape(4, SIZE)),
    "slices": lambda: Model(slices, grid=zeros(4, SIZE), at=1),
    "condition_of_a_loop": lambda: Model(condition_of_a_loop, level=zeros()),
    "frozen_beside": lambda: Model(frozen_beside, c=zeros(), weight=np.eye(SIZE, dtype=np.float32)[::-1] * 0.5),
    "gathered": lambda: Model(gathered, rows=zeros(4, SIZE)),
}


def record(folder: Path, name: str, variables: dict[str, Any], run: Callable[[Any], dict[str, Any]]) -> None:
    """Run three steps of a model and write what went in and came out."""
    generator = np.random.default_rng(sum(map(ord, name)))
    held = {f"initial/{key}": np.array(value()) for key, value in variables.items()}
    for step in range(STEPS):
        x = generator.standard_normal(SIZE).astype(np.float32) + (0.5, -1.0, 1.0)[step]
        held[f"{step}/in/x"] = x = x.astype(np.float32)
        held |= {f"{step}/out/{key}": np.array(value) for key, value in run(x).items()}
        held |= {f"{step}/state/{key}": np.array(value()) for key, value in variables.items()}
    np.savez(folder / f"{name}.npz", **held)


def write_modules(folder: Path) -> None:
    """The models of TensorFlow 2."""
    for name, make in MODELS.items():
        model = make()
        tf.saved_model.save(model, str(folder / name), {"serving_default": model.call})
        variables = {key: variable.numpy for key, variable in model.held.items()}
        record(folder, name, variables, lambda x, model=model: model.call(tf.constant(x)))  # type: ignore[misc]


def write_version_1(folder: Path, name: str, *, resource: bool) -> None:
    """A graph of TensorFlow 1 whose output waits for two writes; an update of training is not reached."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [SIZE], name="x")
        c = v1.get_variable("c", initializer=zeros(), use_resource=resource)
        n = v1.get_variable("n", initializer=np.int32(2), use_resource=resource)
        trained = v1.get_variable("trained", initializer=zeros() + 1, use_resource=resource)
        v1.assign_sub(trained, x, name="update")
        with tf.control_dependencies([v1.assign(c, c.read_value() * 0.5 + x)]):
            counted = v1.assign_add(n, 1)
            with tf.control_dependencies([counted]):
                y = tf.identity(c.read_value() * tf.cast(n.read_value(), tf.float32) + trained, name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / name), {"x": x}, {"y": y})
        variables = {key: lambda key=key: session.run(f"{key}/Read/ReadVariableOp:0" if resource else f"{key}:0")
                     for key in ("c", "n")}  # fmt: skip
        record(folder, name, variables, lambda given: {"y": session.run(y, {x: given})})


def write_undetermined(folder: Path) -> None:
    """Graphs of TensorFlow 1 with a read and a write, and two writes, of which none waits for the other."""
    v1 = tf.compat.v1
    for name in ("read_or_write", "two_writes"):
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [SIZE], name="x")
            c = v1.get_variable("c", initializer=zeros(), use_resource=True)
            other = c.read_value() if name == "read_or_write" else v1.assign_add(c, 2 * x)
            with tf.control_dependencies([v1.assign_add(c, x)]):
                y = tf.add(other, x, name="y")
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(folder / name), {"x": x}, {"y": y})


def write_trained(folder: Path) -> None:
    """A model that only training writes to: what it serves reads."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, SIZE], name="x")
        weight = v1.get_variable("weight", [SIZE, 2], use_resource=True)
        y = tf.identity(x @ weight, name="y")
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(y**2))
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / "trained"), {"x": x}, {"y": y})


def write_frozen(folder: Path) -> None:
    """Frozen graphs that still write a variable: one that was left a variable, and one that is a constant now."""
    v1 = tf.compat.v1
    for name, kept in (("frozen_but_one", ["c"]), ("frozen_whole", [])):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder(tf.float32, [SIZE], name="x")
            c = v1.get_variable("c", initializer=zeros() + 1, use_resource=bool(kept))
            weight = v1.get_variable("weight", initializer=zeros() + 2, use_resource=bool(kept))
            with tf.control_dependencies([v1.assign(c, c.read_value() * 0.5 + x)]):
                tf.multiply(c.read_value(), weight.read_value(), name="y")
            session.run(v1.global_variables_initializer())
            made = tf.compat.v1.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["y"], variable_names_blacklist=kept
            )
            (folder / f"{name}.pb").write_bytes(made.SerializeToString())
            value = functools.partial(session.run, c)
            record(folder, name, {"c": value}, lambda given, run=session.run: {"y": run("y:0", {"x:0": given})})  # type: ignore[misc]


def write_refused(folder: Path) -> None:
    """Graphs of TensorFlow 1 that write in a loop or a conditional, and that read memory before and after it is
    written."""
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    for name in ("conditional", "loop", "loop_reference", "memory"):
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [SIZE], name="x")
            c = v1.get_variable("c", initializer=zeros(), use_resource=name in ("conditional", "loop"))
            if name.startswith("loop"):

                def counted(i: Any, c: Any = c, x: Any = x) -> Any:
                    with tf.control_dependencies([v1.assign_add(c, x)]):
                        return i + 1

                with tf.control_dependencies([v1.while_loop(lambda i: i < 4, counted, [0])]):
                    y = c.read_value()
            elif name == "conditional":
                y = v1.cond(x[0] > 0, lambda c=c, x=x: v1.assign_add(c, x) * 2.0, lambda x=x: x)
            else:
                before = c.read_value()
                with tf.control_dependencies([before]), tf.control_dependencies([v1.assign_add(c, x)]):
                    y = before * 2.0
            y = tf.identity(y, name="y")
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(folder / name), {"x": x}, {"y": y})


def write_optimizer(folder: Path) -> None:
    """A model that trains itself when it is asked."""

    def step(x: Any, weight: Any) -> Any:
        tf.raw_ops.ResourceApplyGradientDescent(var=weight.handle, alpha=0.1, delta=x)
        return weight * x

    model = Model(step, weight=zeros())
    tf.saved_model.save(model, str(folder / "optimizer"), {"serving_default": model.call})


def main() -> None:
    """Write everything."""
    folder = Path(sys.argv[1])
    write_modules(folder)
    write_version_1(folder, "v1_resource", resource=True)
    write_version_1(folder, "v1_reference", resource=False)
    write_undetermined(folder)
    write_trained(folder)
    write_optimizer(folder)
    write_frozen(folder)
    write_refused(folder)


if __name__ == "__main__":
    main()

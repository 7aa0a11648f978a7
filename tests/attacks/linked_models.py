"""Run as a program, with live TensorFlow: write a SavedModel and a checkpoint with a variable into a folder."""

from __future__ import annotations

import os
import sys

import tensorflow as tf

v1 = tf.compat.v1


def main(folder: str) -> None:
    """Write them."""
    os.mkdir(os.path.join(folder, "checkpoint"))
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, (3, 4), name="x")
        y = tf.multiply(x, v1.get_variable("factor", (4,)), name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, os.path.join(folder, "v1"), {"x": x}, {"y": y})
        v1.train.Saver().save(session, os.path.join(folder, "checkpoint", "model"))


if __name__ == "__main__":
    main(sys.argv[1])

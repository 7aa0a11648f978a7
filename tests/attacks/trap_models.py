"""Run as a program, with live TensorFlow: write the models that are read among traps."""

import sys


def main(folder: str) -> None:
    """Write a Keras model in two formats and a frozen graph."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu")])
    model.save(folder + "/dense.keras")
    model.save(folder + "/dense.h5")
    with tf.Graph().as_default() as graph:
        data = tf.compat.v1.placeholder(tf.float32, (2, 4), name="data")
        tf.identity(tf.nn.relu(data - 0.5), name="result")
        tf.io.write_graph(graph, folder, "frozen.pb", as_text=False)


if __name__ == "__main__":
    main(sys.argv[1])

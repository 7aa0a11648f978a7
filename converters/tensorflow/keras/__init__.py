"""Keras's files as records of TensorFlow: read without Keras, written as nodes that the importer takes."""

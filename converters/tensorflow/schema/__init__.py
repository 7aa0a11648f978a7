"""What TensorFlow knows of its operators, and nodes held against it."""

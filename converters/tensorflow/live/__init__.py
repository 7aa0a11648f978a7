"""Live TensorFlow in a child process, and what of a stranger's model it may run."""

"""TensorFlow's files: frozen graphs, SavedModel folders, checkpoints; plain records, no graph."""

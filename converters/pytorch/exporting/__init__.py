"""From a graph to the text of a PyTorch module."""

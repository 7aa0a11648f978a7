"""Import functions of operators that no network of a model zoo has. Read `importing.ops` first.

A family belongs here if no network of MXNet's, gluon's, GluonCV's and GluonNLP's model zoos reaches it. These are
statistics, norms and selections of the NumPy interface, factorizations, random numbers and their densities, images that
are prepared in the graph, sparse arrays, and what MXNet 2.0 added (`mxnet2_*`). No module of `importing.ops` imports
one of them. Their meaning in numpy is in `reference.rare`, their cases are in `tests/equivalence/rare`: all run with
`--full`, one of eight in other runs.
"""

FAMILIES = (
    "special_functions", "algebra", "assignment", "bitwise", "densities", "factorization", "gradient_checks",
    "image_processing", "image_resize", "numpy_arithmetic", "mxnet2_elementwise",
    "mxnet2_attention", "mxnet2_factorization", "mxnet2_quantized",
    "mxnet2_random", "mxnet2_shape", "numpy_padding", "numpy_selection", "numpy_norm",
    "numpy_statistics", "random", "random_counts", "random_numpy", "sparse", "selection",
    "transforms",
)  # fmt: skip

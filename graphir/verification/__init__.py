"""Does one model compute what another does? Feeds, pairs of layers, noise, grading, accuracy."""

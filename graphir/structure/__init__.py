"""What lies behind `graph.Graph`: how values and nodes are held, the rules that keep a graph valid, its text."""

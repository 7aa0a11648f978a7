"""What keeps a stranger's model from harm: limits of work and memory, text made safe to show, arguments checked."""

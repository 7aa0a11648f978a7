"""What MXNet knows of its operators: registry, history, upgrades, attribute values."""

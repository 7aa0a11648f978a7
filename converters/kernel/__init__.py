"""What every front end shares."""

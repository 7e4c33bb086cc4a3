"""The commands, one module each, found by their names."""

"""Tools of training loops and experiments: callbacks, PyTerrier's runs, and trackers of values."""

"""What training loops and experiments use: callbacks, PyTerrier's runs, and trackers of values."""

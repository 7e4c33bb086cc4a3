"""The commands about judges."""

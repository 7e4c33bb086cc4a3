"""The commands about what judges say."""

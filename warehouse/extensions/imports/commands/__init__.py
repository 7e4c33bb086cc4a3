"""The commands of the imports."""

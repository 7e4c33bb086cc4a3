"""A project's file, and what brings a database up to date with it."""

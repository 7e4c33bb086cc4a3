"""A project's file, and the sync that brings a database up to date with it."""

"""The configuration of a call: settings, the project's file, times."""

"""Metrics by name: the notation, the catalogue of templates, parameters, peers' names, protocols."""

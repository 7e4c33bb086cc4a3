"""The keys of a metric's header, with the types of their values."""

from __future__ import annotations

from warehouse.config.toml import Kinds

HEADER_KEYS: dict[str, Kinds] = {
    "title": str,
    "summary": str,
    "formula": str,
    "reads": list,
    "direction": str,
    "range": list,
    "aggregate": str,
    "undefined": (int, float, str),
    "reference": str,
}
OPTIONAL_KEYS: dict[str, Kinds] = {
    "latex": str,  # the formula as the manual typesets it
    "params": dict,
    "names": dict,
    "ranx": dict,
    "trec_eval": dict,
    "at": str,
    "extends": str,
    "other": dict,
}
# What a metric that extends another must declare itself. If it declares an aggregate, it has no
# other: the metric that it extends has the others.
OWN_KEYS = ("names", "ranx", "trec_eval", "other")
PARAM_KEYS: dict[str, Kinds] = {
    "type": str,
    "default": (int, float, str, bool, list, dict),
    "min": (int, float),
    "max": (int, float),
    "above": str,
    "choices": list,
    "required": bool,
    "summary": str,
    "follows_level": bool,
    "is_rank": bool,
    "needs": dict,
    "at_most": dict,
    "replaces": list,
}
TREC_KEYS: dict[str, Kinds] = {
    "param": str,
    "named": list,
    "numbers": list,
    "first": bool,
    "values": list,
    "format": str,
    "integer": bool,
    "per_query": bool,
    "given": dict,
}
RANX_KEYS: dict[str, Kinds] = {
    "fraction": str,
    "param": str,
    "values": list,
    "given": dict,
}
# The TOML types of defaults that consist of several values.
DEFAULTS: dict[str, Kinds] = {"gains": dict, "levels": list}

"""The keys of a metric's header, each with the kinds of value that it may have."""

from __future__ import annotations

from warehouse.records import Kinds

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
    "params": dict,
    "names": dict,
    "ranx": dict,
    "trec_eval": dict,
    "at": str,
    "extends": str,
    "other": dict,
}
# What a metric that extends another has to say for itself. If it says how its queries are put together,
# they are so in no other way: the metric that it extends has the other ways.
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
# How TOML writes the default of a parameter that is more than one value.
DEFAULTS: dict[str, Kinds] = {"gains": dict, "levels": list}

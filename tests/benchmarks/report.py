"""What a benchmark found, as a table for people and as JSON."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from typing import Any

from tabulate import tabulate

from tests.benchmarks.contenders import CHECKOUT
from tests.benchmarks.rounds import Result, difference
from warehouse import __version__

FIGURES = ("wall_s", "cpu_s", "peak_mb")

_PACKAGES = (
    *("duckdb", "pytrec-eval-terrier", "ranx", "ir-measures", "polars"),
    *("numba", "numpy", "pandas", "pyarrow"),
)


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3, 1),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python, of this project and of the packages that are here."""
    found = {"python": platform.python_version(), "warehouse": __version__}
    commit = _said("git", "-C", str(CHECKOUT), "describe", "--always", "--dirty")
    if commit:
        found["commit"] = commit
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def benchmark(
    name: str, work: Mapping[str, Any], results: list[Result], left_out: list[str]
) -> dict[str, Any]:
    """Return one benchmark as JSON has it."""
    figures = []
    for result in results:
        group = result.contender.group
        first = (r.values for r in results if r.contender.ours and r.contender.group == group)
        figure: dict[str, Any] = {
            "contender": result.contender.name,
            "ours": result.contender.ours,
            **asdict(result.median),
            "metrics": len(result.values),
            "values": result.values,
            "largest_difference": difference(next(first, {}), result.values),
            "rounds": [asdict(cost) for cost in result.costs],
            "notes": result.notes,
        }
        if result.file_bytes is not None and result.contender.ours:
            rows = work["queries"] * work["depth"] * work["runs"]
            figure["bytes_per_prediction"] = result.file_bytes / rows
        figures.append(figure)
    return {
        "name": name,
        "work": dict(work),
        "figures": figures,
        "ratios": [_ratio(o, p) for o in results for p in results if _against(o, p)],
        "left_out": left_out,
    }


def _against(one: Result, other: Result) -> bool:
    ours, peer = one.contender, other.contender
    return ours.ours and not peer.ours and ours.group == peer.group


def _ratio(ours: Result, peer: Result) -> dict[str, Any]:
    a, b = ours.median, peer.median
    return {
        "ours": ours.contender.name,
        "peer": peer.contender.name,
        "wall": a.wall_s / b.wall_s,
        "cpu": a.cpu_s / b.cpu_s,
        "peak": a.peak_mb / b.peak_mb,
    }


def table(found: Mapping[str, Any]) -> str:
    """Return one benchmark as text: what each took, then ours divided by each peer's."""
    work = found["work"]
    text = found["name"]
    if work:
        text += (
            f": {work['runs']} run(s), {work['queries']:,} queries, {work['depth']:,} documents each, "
            f"{work['judgments']:,} judgments ({work['source']})"
        )
    rows = [
        [f[key] for key in ("contender", *FIGURES, "metrics", "largest_difference")]
        for f in found["figures"]
    ]
    text += "\n\n" + tabulate(
        rows,
        ["", "wall s", "CPU s", "peak MB", "metrics", "differs by"],
        floatfmt=("", ".3f", ".3f", ".0f", "", ".1g"),
    )
    if found["ratios"]:
        ratios = [(r["ours"], r["peer"], r["wall"], r["cpu"], r["peak"]) for r in found["ratios"]]
        text += "\n\n" + tabulate(
            ratios,
            ["ours /", "peer", "wall", "CPU", "peak"],
            floatfmt=("", "", ".2f", ".2f", ".2f"),
        )
    notes = [f"{f['contender']}: {note}" for f in found["figures"] for note in f["notes"]]
    notes += [
        f"{f['contender']}: {f['bytes_per_prediction']:.1f} bytes of file per prediction"
        for f in found["figures"]
        if "bytes_per_prediction" in f
    ]
    return "\n\n".join([text, "\n".join([*notes, *found["left_out"]])]).rstrip() + "\n"


def footer(found: Mapping[str, Any]) -> str:
    """Return the lines under the tables: when, on what, with what."""
    on = found["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    load = " to ".join(f"{value:.1f}" for value in found["load"])
    scale = "" if found["scale"] == 1 else f", at {found['scale']:g} of the size"
    return (
        f"{found['date']}, median of {found['repeat']} round(s){scale}; load of the machine {load}\n"
        f"{on['processor']}, {on['cores']} cores, {on['memory_gb']} GB, {on['system']}\n{packages}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123
            names = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _said(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None

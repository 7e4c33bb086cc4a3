"""The metrics that everybody computes, with the name that each program knows them by."""

from __future__ import annotations


def _names() -> dict[str, dict[str, str]]:
    names = {
        "AP": {"trec_eval": "map", "ranx": "map"},
        "nDCG": {"trec_eval": "ndcg", "ranx": "ndcg"},
        "nDCG@10": {"trec_eval": "ndcg_cut_10", "ranx": "ndcg@10"},
    }
    for cutoff in (5, 10, 20, 100):
        names[f"P@{cutoff}"] = {"trec_eval": f"P_{cutoff}", "ranx": f"precision@{cutoff}"}
    for cutoff in (10, 100, 1000):
        names[f"R@{cutoff}"] = {"trec_eval": f"recall_{cutoff}", "ranx": f"recall@{cutoff}"}
    names |= {
        "RR": {"trec_eval": "recip_rank", "ranx": "mrr"},
        "RR@10": {"ranx": "mrr@10"},
        "Rprec": {"trec_eval": "Rprec", "ranx": "r-precision"},
        "bpref": {"trec_eval": "bpref", "ranx": "bpref"},
    }
    for cutoff in (1, 5, 10):
        names[f"Success@{cutoff}"] = {
            "trec_eval": f"success_{cutoff}",
            "ranx": f"hit_rate@{cutoff}",
        }
    # ranx has a file for these, and no name by which they can be asked for
    for tenth in range(11):
        level = f"{tenth / 10:.1f}"
        names[f"IPrec@{level}"] = {"trec_eval": f"iprec_at_recall_{tenth / 10:.2f}"}
    for name, known in names.items():
        known["ir_measures"] = "Bpref" if name == "bpref" else name
        known["polars"] = known["warehouse"] = name
        if "trec_eval" in known:
            known["pytrec_eval"] = known["trec_eval"]
    return names


NAMES = _names()
METRICS = tuple(NAMES)


def pairs(peer: str) -> list[str]:
    """Return `OURS=THEIRS` for each metric that a program has."""
    return [f"{ours}={known[peer]}" for ours, known in NAMES.items() if peer in known]


def trec_options() -> list[str]:
    """Return trec_eval's options -m; it takes several cutoffs at once, and must."""
    cutoffs: dict[str, list[str]] = {}
    for known in NAMES.values():
        if "trec_eval" not in known:
            continue
        stem, _, cutoff = known["trec_eval"].rpartition("_")
        if stem == "iprec_at_recall":
            cutoffs[stem] = []  # its eleven points are the default
        elif cutoff.isdecimal():
            cutoffs.setdefault(stem, []).append(cutoff)
        else:
            cutoffs[known["trec_eval"]] = []
    return [
        word
        for name, numbers in cutoffs.items()
        for word in ("-m", f"{name}.{','.join(numbers)}" if numbers else name)
    ]

"""Metrics that other programs compute exactly, with their parameters: they need no twin.

The user models are held against ir_measures, judgments by iteration against pyndeval, samples against
NIST's scripts, ratings and equal scores against scikit-learn; the mean over the orders of equal scores
against all permutations.
"""

from __future__ import annotations

USER_MODELS = [
    "ERR@1", "ERR@3", "ERR@20", "ERR(max_rel=2)@5", "SDCG(max_rel=3)@1", "SDCG(max_rel=3)@5",
    "SDCG(min_rel=1, max_rel=2)@20", "BPM(max_rel=3)@1", "BPM(max_rel=3)@5", "BPM(max_rel=1)@20",
    "BPM(T=2.5, max_rel=4)@10", "BPM(T=0.5, min_rel=1, max_rel=3)@10", "INST(max_rel=3)",
    "INST(T=0.25, max_rel=1)", "INST(T=3.0, min_rel=1, max_rel=4)",
    "INST(T=2.0, max_rel=2, horizon=4)", "INSQ(max_rel=3)", "INSQ(T=0.1, max_rel=1)",
    "INSQ(T=5.5, min_rel=1, max_rel=3, horizon=3)", "NERR8(max_rel=4)@1", "NERR8(max_rel=3)@5",
    "NERR8(min_rel=1, max_rel=2)@20", "NERR9(max_rel=4)@1", "NERR9(max_rel=3)@5",
    "NERR9(min_rel=1, max_rel=2)@20", "NERR10(max_rel=3)", "NERR10(p=0.0, max_rel=3)",
    "NERR10(p=1.0, max_rel=4, horizon=20)", "NERR10(p=0.5, min_rel=1, max_rel=2, horizon=2)",
    "NERR11(max_rel=3)", "NERR11(T=0.2, min_rel=1, max_rel=2)",
    "NERR11(T=3.0, max_rel=1, horizon=5)", "Compat", "Compat(p=0.5)", "Compat(p=1.0)",
    "Compat(p=0.0)", "Compat(normalize=False)", "Compat(p=1.0, normalize=False)", "Compat(rel=2)",
    "IFT(max_rel=3)", "IFT(stop=goal, T=0.5, max_rel=2, horizon=20)",
    "IFT(stop=rate, R2=2, min_rel=1, max_rel=3, horizon=7)",
]  # fmt: skip
OF_ITERATIONS = [
    "ERR_IA@1", "ERR_IA@3", "ERR_IA@20", "ERR_IA(alpha=0.25)@5", "ERR_IA(rel=2, alpha=1.0)@5",
    "nERR_IA", "nERR_IA@1", "nERR_IA@4", "nERR_IA(rel=2, alpha=0.0)@5", "alpha_DCG@1",
    "alpha_DCG@4", "alpha_DCG(alpha=0.25)@20", "alpha_DCG(rel=2)@4", "alpha_nDCG", "alpha_nDCG@1",
    "alpha_nDCG@4", "alpha_nDCG(alpha=1.0)@5", "alpha_nDCG(alpha=0.0)", "alpha_nDCG(rel=2)@4",
    "NRBP", "NRBP@3", "NRBP(alpha=0.25, beta=0.9)", "NRBP(rel=2, beta=1.0)", "nNRBP", "nNRBP@3",
    "nNRBP(alpha=0.25, beta=0.9)", "nNRBP(rel=2, beta=0.0)", "StRecall", "StRecall@1",
    "StRecall(rel=2)@4", "AP_IA", "AP_IA@3", "AP_IA(groups=all)", "AP_IA(groups=all, rel=2)@4",
    "P_IA@1", "P_IA@4", "P_IA(rel=2)@20", "P_IA(groups=all)@4", "Rprec_IA",
    "Rprec_IA(groups=all, multiple=0.35)", "Rprec_IA(rel=2, multiple=2.0)",
]  # fmt: skip
OF_SAMPLES = [
    "xinfAP", "xinfAP@4", "xinfAP(rel=2)@20", "infNDCG", "infNDCG@4", "infNDCG(rel=2)@20",
    "infNDCG(ideal=rounded)@5", "statAP",
    "statAP@4", "statAP(rel=2)",
]  # fmt: skip
OF_RATINGS = [
    "RMSE", "MAE", "R2", "LogLoss", "LogLoss(rel=2)", "LogLoss(rel=0.5)",
    "Brier", "Brier(rel=2)", "ECE", "ECE(bins=3)", "ECE(rel=2, bins=1)",
]  # fmt: skip
WITH_TIES = [
    "AP(ties=threshold)", "AP(ties=threshold)@3", "AP(ties=threshold, rel=2)",
    "AP(ties=threshold, norm=hits)@5", "AP(ties=threshold, norm=min)@4", "AP(ties=threshold, norm=k)@4",
    "AP(aggregate=pooled)", "AP(aggregate=pooled)@3", "AP(aggregate=pooled, ties=threshold)",
    "AP(aggregate=pooled, ties=threshold, rel=2, norm=hits)", "AP(aggregate=pooled, norm=min)@3",
    "AP(aggregate=pooled, ties=threshold, norm=k)@2", "GMAP(ties=threshold)", "LRAP", "LRAP(rel=2)",
    "RankingLoss", "RankingLoss(rel=2)", "RankingLoss(ties=half)", "CoverageError",
    "CoverageError(rel=2)", "CoverageError(never=retrieved)", "CoverageError(never=retrieved, rel=3)",
    "DCG(ties=average)", "DCG(ties=average)@3", "DCG(ties=average, rel=2, dcg=exp-log2)@4",
    "DCG(ties=average, gains={1:0.25,2:3.5,3:3})@2", "nDCG(ties=average)", "nDCG(ties=average)@1",
    "nDCG(ties=average)@3", "nDCG(ties=average)@20", "nDCG(ties=average, rel=2)@2",
    "nDCG(ties=average, dcg=exp-log2)", "nDCG(ties=average, dcg=binary)@4",
    "nDCG(ties=average, gains={0:0.5,1:0})@3", "RelP(norm=queries)@3", "RelP(norm=queries)@50",
    "nR_as_coded@10", "RelP(norm=queries, rel=2)@2", "P(ties=average)@3", "P(ties=average, rel=2)@1",
    "P(ties=average, norm=retrieved)@4", "P(ties=average, norm=retrieved, aggregate=pooled)@3",
    "R(ties=average)@2", "R(ties=average, aggregate=pooled)@3", "RR(ties=average)",
    "RR(ties=average)@3", "RR(ties=average, rel=2)@2", "AP(ties=average)", "AP(ties=average)@3",
    "AP(ties=average, rel=2)", "AP(ties=average, norm=min)@4", "AP(ties=average, norm=k)@2",
    "GMAP(ties=average)@5",
]  # fmt: skip
PEERED = [*USER_MODELS, *OF_ITERATIONS, *OF_SAMPLES, *OF_RATINGS, *WITH_TIES]

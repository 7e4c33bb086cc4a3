"""The examples at the end of each command's help; a test runs them as printed."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("warehouse demo", "warehouse demo --files ."),
    "init": ("warehouse init", "warehouse init --db mine.duckdb"),
    "config show": ("warehouse config show", "warehouse config show -f json"),
    "config schema": ("warehouse config schema -o warehouse.schema.json",),
    "ingest qrels": (
        "warehouse ingest qrels qrels.txt --dataset dl19",
        "warehouse ingest qrels ratings.csv -d films --column query_id=user "
        "--column doc_id=item --column relevance=stars",
        "warehouse ingest qrels subtopics.txt -d web --iterations",
        "warehouse ingest qrels prefs.txt -d choices --format prefs",
        "warehouse ingest qrels qrels.txt -d dl19 --normalise 'lower(trim(doc_id))'",
        "warehouse ingest qrels links.txt -d links --global --queries queries.txt",
    ),
    "ingest training": (
        "warehouse ingest training seen.csv -d films --column query_id=user --column doc_id=item",
    ),
    "ingest run": (
        "warehouse ingest run runs/*.run.gz --dataset dl19 --tag stage=first",
        "warehouse ingest run distances.csv -d films --name ann --lower-is-better "
        "--column query_id=user --column doc_id=item --column score=distance",
        "gzip -dc runs/bm25.run.gz | warehouse ingest run - -d dl19 --name bm25 --at 2026-09-01",
    ),
    "ingest attributes": (
        "warehouse ingest attributes movies.csv -d films --of docs --id movie --split genres='|'",
        "warehouse ingest attributes users.jsonl -d films --of queries --name people",
    ),
    "ingest mlflow": (
        "warehouse ingest mlflow sqlite:///mlflow.db --experiment ranking -d dl19",
        "warehouse ingest mlflow mlruns -e ranking -d dl19 --artifacts 'runs/*.run' --db mine.duckdb",
    ),
    "sync": (
        "warehouse sync",
        "warehouse sync --config warehouse.toml --dry-run",
        "warehouse sync --json --lock-timeout 60",
    ),
    "watch": ("warehouse watch", "warehouse watch --debounce 5"),
    "evaluate": (
        "warehouse evaluate",
        "warehouse evaluate -d dl19 -m nDCG@10 -m 'AP(rel=2)' -m map_cut_100",
        "warehouse evaluate -m official --protocol trec_eval_9 --dry-run",
        "warehouse evaluate -d dl19 -m AP --slice 'size = quantiles(num_relevant, 3)'",
        "warehouse evaluate -d dl19 -m P@5 -m 'P(scope=global)@5' --slice source",
        "warehouse evaluate -d dl19 -m AP --qrels 1",
    ),
    "leaderboard": (
        "warehouse leaderboard -d dl19",
        "warehouse leaderboard -d dl19 -m AP -m nDCG@10 --sort nDCG@10 --top 3",
        "warehouse leaderboard -d dl19 -f latex -o board.tex",
        "warehouse leaderboard -d dl19 -d dl20 -m AP --weights relevant --each",
        "warehouse leaderboard -d 'dl*' -m nDCG@10 --weights dl19=2,dl20=1",
        "warehouse leaderboard -d dl19 -m AP --slice size --top 1",
        'warehouse leaderboard -d dl19 --as-of "$(date -u +%F)"',
        "warehouse leaderboard -d dl19 --qrels 1 -m AP",
        "warehouse leaderboard -d dl19 -m nDCG@10 --ci --ties --alpha 0.01",
    ),
    "queries": (
        "warehouse queries bm25 -d dl19 -m nDCG@10 --worst 5",
        "warehouse queries bm25 -d dl19 -m AP --slice size --worst 2",
        'warehouse queries bm25 -d dl19 -m AP --as-of "$(date -u +%F)"',
    ),
    "compare": (
        "warehouse compare bm25 tasb -d dl19",
        "warehouse compare bm25 tasb -d dl19 -m nDCG@10 -m AP --test randomisation --interval bootstrap",
        "warehouse compare -d dl19 -m AP --all-pairs --correction bonferroni --only pairs -f csv",
        "warehouse compare bm25 tasb -d dl19 -m nDCG@10 --judged-only --bounds --only values -f latex",
        "warehouse compare bm25 tasb -d dl19 -m nDCG@10 --queries 2 --depth 5",
    ),
    "check": (
        "warehouse check -m nDCG@10 -d dl19 --against last --max-drop 0.01",
        "warehouse check -m nDCG@10 -m AP -d dl19 --run tasb --against bm25 --alpha 0.05",
    ),
    "agree": (
        "warehouse agree -d dl19 --against bm25",
        "warehouse agree bm25 tasb -d dl19 --depth 10 --over union --by-query -f csv",
        "warehouse agree -d dl19 --of runs -m nDCG@10 -m AP -m RR",
    ),
    "reproduce": (
        "warehouse reproduce tasb bm25 -d dl19 -m nDCG@10 -m AP --depth 100",
        "warehouse reproduce tasb tasb -d dl19 -m nDCG@10 --base bm25 bm25",
        "warehouse reproduce bm25 bm25 -d dl19 --in dl20 -m nDCG@10",
    ),
    "holes": (
        "warehouse holes -d dl19 --top 20",
        "warehouse holes bm25 tasb -d dl19 --depth 5 --top 2 --per-query -f trec -o to_judge.txt",
        "warehouse holes -d dl19 --by-run -f csv",
    ),
    "history": (
        "warehouse history -d dl19 -m nDCG@10",
        "warehouse history -d dl19 -m AP --run bm25 --run tasb -o history.svg",
    ),
    "qrels": ("warehouse qrels -d dl19",),
    "qrels diff": (
        "warehouse qrels diff 1 2 -d grown",
        "warehouse qrels diff 1 2 -d grown --rows -f jsonl",
        "warehouse qrels diff 1 2 -d grown --boards --protocol default",
    ),
    "status": ("warehouse status", "warehouse status -d dl19 -f json"),
    "verify": (
        "warehouse verify -d dl19 --sample 5 --seed 1",
        "warehouse verify --all",
    ),
    "show": ("warehouse show bm25 -d dl19", "warehouse show bm25 -d dl19 -f json"),
    "explain": (
        "warehouse explain bm25 AP 443396 -d dl19",
        "warehouse explain bm25 nDCG@10 443396 -d dl19 --top 5 -f csv",
    ),
    "forget": ("warehouse forget bm25 -d dl19 --reason 'wrong index' --yes",),
    "slices": ("warehouse slices -d dl19", "warehouse slices size -d dl19"),
    "curve": (
        "warehouse curve ROC -d dl19 --run bm25 --run tasb -o roc.svg",
        "warehouse curve 'PrecisionRecall(rel=2)' -d dl19 --run bm25 --query 443396",
        "warehouse curve recall@k -d dl19 -f csv",
    ),
    "curves": ("warehouse curves", "warehouse curves -f markdown"),
    "curves show": ("warehouse curves show ROC",),
    "fuse": (
        "warehouse fuse bm25 tasb -d dl19 --name both",
        "warehouse fuse bm25 tasb -d dl19 --method wsum --weights 0.3,0.7 --name weighted",
        "warehouse fuse bm25 tasb -d dl19 --method wsum --tune nDCG@10 --train-share 0.5 "
        "--leave-out-training --name tuned",
        "warehouse fuse bm25 tasb -d dl19 --method 'probfuse(segments=10)' --train-queries train.txt "
        "--name trained",
    ),
    "fusions": ("warehouse fusions", "warehouse fusions -f markdown"),
    "fusions show": ("warehouse fusions show rrf",),
    "score": (
        "warehouse score qrels.txt runs/bm25.run.gz nDCG@10 AP 'P(rel=2)@10'",
        "warehouse score qrels.txt runs/*.run.gz nDCG@10 AP -f csv",
        "warehouse score qrels.txt runs/bm25.run.gz 'nDCG(gains={1:1,2:3,3:7})@10'",
        "warehouse score qrels.txt runs/bm25.run.gz official -q -c -l 2 -f trec",
        "warehouse score qrels.txt runs/bm25.run.gz all_trec --protocol trec_eval_9 -f csv",
        "warehouse score qrels.txt runs/bm25.run.gz AP --attributes sources.csv",
        "warehouse score links.txt links.run AP 'LAG(aggregate=pooled)' --global --protocol ardoco",
        "warehouse score subtopics.txt runs/web.run alpha_nDCG@10 map_avgjg -R qrels_jg",
    ),
    "query": (
        "warehouse query \"from leaderboard where metric = 'AP' order by place\"",
        "warehouse query 'select count(*) as judgments from judgment where query_id = $q' "
        "-p q=19335",
        "warehouse query 'from rankings' --limit 5 -f csv",
        "warehouse query 'from history' --timeout 5 -f parquet -o history.parquet",
    ),
    "publish": ("warehouse publish replica.duckdb", "warehouse publish --parquet replica"),
    "shell": ("warehouse shell", "warehouse shell --replica replica.duckdb"),
    "runs": ("warehouse runs -d dl19",),
    "datasets": ("warehouse datasets -f json",),
    "attributes": ("warehouse attributes -d dl19",),
    "deciles": ("warehouse deciles -d dl19",),
    "deciles make": (
        "warehouse deciles make -d dl19",
        "warehouse deciles make -d dl19 --from qrels --by count --parts 4 --name quarter",
    ),
    "deciles show": ("warehouse deciles show -d dl19",),
    "metrics": ("warehouse metrics", "warehouse metrics -f markdown"),
    "metrics show": ("warehouse metrics show nDCG", "warehouse metrics show nDCG@10 map_cut_100"),
    "protocols": ("warehouse protocols",),
    "protocols show": ("warehouse protocols show trec_eval_9 trec_eval_10 default",),
    "schema": ("warehouse schema", "warehouse schema rankings"),
}


def epilog(command: str) -> str:
    """Return a command's examples for the end of its help."""
    lines = "\n".join(f"  {example}" for example in EXAMPLES[command])
    return f"\b\nExamples:\n{lines}"

"""Merging runs: the lists of some runs become a new one's lists, by one of the methods in `sql/fusion`.

    fused_run         (run_number, run_id)   the runs that are merged, numbered by their ids
    fused_query       (query_id)   the queries whose lists are merged
    entry             (run_number, query_id, doc_id, score, rank)   their lists, best first, normalised
    trained_query     (query_id)   the queries that a method is trained on
    trained_entry     (run_number, query_id, rank, num_ret, is_rel)   the lists for these, as in entry
    trained_precision (run_number, average_precision)   the mean of each run over these queries

All are temporary. Lists are in the order of the protocol `default`: by score, the better first, then by
document id, descending.
"""

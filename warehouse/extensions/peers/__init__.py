"""The interfaces of pytrec_eval and ir_measures, computed by the warehouse: change the import.

`pytrec_eval` here stands in for pytrec_eval, and `ir_measures` has a provider for ir_measures.
"""

"""The interfaces of pytrec_eval, ir_measures and ranx, computed by the warehouse: change the import.

`pytrec_eval` and `ranx` here stand in for these programs, and `ir_measures` has a provider for
ir_measures.
"""

"""The interfaces of other evaluation programs, computed by the warehouse: change the import.

`warehouse.compat.pytrec_eval` stands in for pytrec_eval, `warehouse.compat.ranx` for ranx.
"""

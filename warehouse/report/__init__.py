"""Results as text and files: tables for people, CSV and JSON in full precision, trec_eval's layout."""

"""`penstock load`, `archive` and `replay`: jobs over many rows."""

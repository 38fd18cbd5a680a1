"""`penstock load`, `archive` and `replay`: bulk jobs."""

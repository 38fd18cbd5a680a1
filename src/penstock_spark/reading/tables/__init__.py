"""A topic as a table: typed columns, and what happens to rows that do not fit them."""

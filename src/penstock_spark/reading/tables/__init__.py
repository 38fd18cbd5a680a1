"""A topic as a table: typed columns, and the treatment of rows that do not fit them."""

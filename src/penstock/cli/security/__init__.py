"""`penstock security`: rules, users and the set-up of a secured node."""

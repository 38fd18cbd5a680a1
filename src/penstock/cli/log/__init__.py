"""`penstock log`: look into, verify and repair the files of a broker that does not run."""

"""`penstock log`: show, verify and repair the files of a broker that is not running."""

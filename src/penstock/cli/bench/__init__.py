"""`penstock bench`: load on a broker by scenario, measured."""

"""`penstock pipeline`: projects that run on Spark."""

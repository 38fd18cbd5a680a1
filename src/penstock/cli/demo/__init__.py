"""`penstock demo`: broker, prices, pipeline and picture in one command."""

"""`penstock transaction`: list, describe and abort transactions."""

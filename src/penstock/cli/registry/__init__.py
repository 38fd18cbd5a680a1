"""`penstock registry`: run and query the registry of a hierarchy."""

"""`penstock registry`: serve and ask the registry of a hierarchy."""

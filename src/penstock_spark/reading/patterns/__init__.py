"""Regular expressions of Java over the names of topics."""

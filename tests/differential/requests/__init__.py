"""Single requests: for every API and version the valid, the borderline and the wrong ones. Found by themselves."""

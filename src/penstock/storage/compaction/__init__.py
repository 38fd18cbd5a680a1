"""The log cleaner: rewriting segments so that the last record of each key is left."""

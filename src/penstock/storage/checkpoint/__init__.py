"""Recovery points: the snapshot file of a log, how a new one is written, and the marker files beside it."""

"""The process that runs updates of a pipeline project; the command `penstock pipeline` starts it."""

"""What an engine does by itself, a little at every tick: one file for each job, and the host that they run on."""

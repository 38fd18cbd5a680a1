"""The background jobs of an engine, a little work at every tick: one file per job, and the host that they run on."""

"""The shards of `__consumer_offsets`: drivers that store what groups decide, and read it back at the start."""

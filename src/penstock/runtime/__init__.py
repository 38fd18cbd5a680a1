"""The world behind small interfaces: clock, files, lifecycle, worker processes."""

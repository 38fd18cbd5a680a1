"""One partition's log on disk: appending, reading, and what is known of its producers and epochs."""

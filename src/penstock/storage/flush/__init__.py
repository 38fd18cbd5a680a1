"""From written to on disk: group commit, and the descriptors it syncs."""

"""The registry of nodes: which are live, and the parent of each. `hierarchy` decides, the rest serves and stores."""

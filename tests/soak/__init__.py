"""An hour of everything at once against a real broker, checked by the run itself: `make soak`."""

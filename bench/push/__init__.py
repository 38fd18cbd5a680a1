"""`make bench-push`: the engine under single messages, the push door, and the pipe."""

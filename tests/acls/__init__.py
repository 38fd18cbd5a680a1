"""Rules of access in force: who may do what at each door, and what happens when a right is taken away."""

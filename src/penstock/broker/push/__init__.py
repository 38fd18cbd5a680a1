"""The push door: connections, what they ask, and publishing."""

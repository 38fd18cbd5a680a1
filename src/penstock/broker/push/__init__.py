"""The push door: connections, their requests, and publishing."""

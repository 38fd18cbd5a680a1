"""Every request of every door passes the gate, and a right that is denied stops it."""

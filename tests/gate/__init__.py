"""Every request of every door passes the gate."""

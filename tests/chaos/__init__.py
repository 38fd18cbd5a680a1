"""Real clients on a broker that dies, and the consistency checker over what they saw (`make chaos`)."""

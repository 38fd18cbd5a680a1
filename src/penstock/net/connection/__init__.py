"""A connection of framed requests and their answers, put together from parts."""

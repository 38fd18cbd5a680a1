"""Sans-I/O codecs of the wire protocols."""

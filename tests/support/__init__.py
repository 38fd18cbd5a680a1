"""Support for the tests: real broker processes, clients that speak raw frames, and small worlds without I/O."""

"""First figures of a broker, repeatable by `make bench`. Results are JSON files in `bench/results`."""

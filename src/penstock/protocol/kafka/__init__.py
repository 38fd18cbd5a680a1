"""The Kafka protocol: frames, headers, the table of APIs, messages over kio, fast paths for Produce and Fetch."""

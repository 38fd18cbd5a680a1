"""The same requests to Apache Kafka and to Penstock, and their answers compared; see `script.py` for where to begin."""

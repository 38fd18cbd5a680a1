"""The SDK's settings, offsets and errors in terms of librdkafka."""

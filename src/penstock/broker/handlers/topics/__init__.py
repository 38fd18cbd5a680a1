"""Handlers of APIs for topics, their partitions and replicas."""

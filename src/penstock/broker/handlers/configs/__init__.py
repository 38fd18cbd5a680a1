"""Handlers of APIs for configs and client quotas."""

"""Handlers of APIs for groups, their members and offsets."""

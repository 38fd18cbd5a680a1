"""Handlers of APIs for producer ids and transactions."""

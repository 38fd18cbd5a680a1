"""Types of Kafka's replies and of their builders, for mypy alone: one stub per API, with the fields of all versions.

Import them below `if TYPE_CHECKING:`; at run time there is nothing to import. `python -m tools.wire_types` makes them.
"""

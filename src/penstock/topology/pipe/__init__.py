"""The pipe: topics of a parent, mirrored by its children, level by level."""

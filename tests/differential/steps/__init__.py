"""Request bodies and short steps that many scenarios share. Nothing here knows which broker it talks to."""

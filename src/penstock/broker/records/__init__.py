"""Looking into records: checks within the event loop, and the worker process for longer ones."""

"""The controller: every change of topics, mirrors and configs, one at a time and durable."""

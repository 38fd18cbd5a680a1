"""One typed settings tree (YAML, environment, flags) and the topic configs."""

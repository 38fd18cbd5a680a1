"""The process of Python beside Spark's driver that plans queries and commits writes for the part in the JVM."""

"""The jar with the part of the source that runs in Spark's JVM. It only says where it is."""

from __future__ import annotations

from pathlib import Path

JAR = Path(__file__).parent / "jars" / "penstock-spark.jar"


def existing_jar() -> Path:
    if not JAR.exists():
        remedy = "install a JDK (openjdk-17-jdk-headless) and run `python -m tools.spark_jar`"
        raise FileNotFoundError(f"there is no {JAR}: {remedy}")
    return JAR

"""The part of `format("penstock")` that runs in Spark's JVM: src/java, compiled into the package as a jar.

    python -m tools.spark_jar               if it is not there or a source is newer; says so and goes on without a JDK
    python -m tools.spark_jar --required    fails without a JDK

It is compiled against the jars of the installed PySpark. Entries are sorted and have no time, so the same sources and
compiler make the same bytes.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "java"
JAR = ROOT / "src" / "penstock_spark" / "jars" / "penstock-spark.jar"
SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
PROVIDER = "penstock.spark.PenstockProvider"
LINTS = "-Xlint:all,-classfile,-path,-processing"
WITHOUT = (
    "There is no javac, so there is no penstock-spark.jar: Spark reads and writes without pruning and update mode. "
    "apt-get install openjdk-17-jdk-headless, or let JAVA_HOME name a JDK; then python -m tools.spark_jar"
)
_NO_TIME = (1980, 1, 1, 0, 0, 0)


class JarError(Exception):
    """A jar that cannot be made; the message has the reason."""


def sources(directory: Path = SOURCES) -> list[Path]:
    return sorted(directory.rglob("*.java"))


def is_current(jar: Path = JAR, directory: Path = SOURCES) -> bool:
    """Whether the jar is there and newer than every source, and than this file."""
    made_from = [*sources(directory), Path(__file__)]
    return jar.exists() and jar.stat().st_mtime >= max(path.stat().st_mtime for path in made_from)


def find_javac() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("javac", path=f"{home}/bin" if home else None) or shutil.which("javac")


def make(javac: str, jar: Path = JAR, directory: Path = SOURCES) -> None:
    """Compile and pack. The jar appears whole or not at all."""
    with tempfile.TemporaryDirectory(prefix="penstock-jar-") as classes:
        command = [javac, "--release", "17", "-proc:none", LINTS, "-Werror", "-d", classes, "-cp", f"{_spark_jars()}/*"]
        done = subprocess.run([*command, *map(str, sources(directory))], capture_output=True, text=True, check=False)
        if done.returncode:
            raise JarError(f"javac failed:\n{done.stdout}{done.stderr}")
        jar.parent.mkdir(parents=True, exist_ok=True)
        unfinished = jar.with_suffix(f".{os.getpid()}.part")
        _pack(Path(classes), unfinished)
        unfinished.replace(jar)


def _pack(classes: Path, jar: Path) -> None:
    contents = {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}
    contents[SERVICE] = f"{PROVIDER}\n".encode()
    manifest = b"Manifest-Version: 1.0\r\nCreated-By: penstock\r\n\r\n"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [("META-INF/MANIFEST.MF", manifest), *sorted(contents.items())]:
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)


def _spark_jars() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise JarError("PySpark is not installed: make setup")
    return Path(found.origin).parent / "jars"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.spark_jar", description="The part in Spark's JVM.")
    parser.add_argument("--required", action="store_true", help="fail without a JDK")
    required: bool = parser.parse_args(arguments).required
    if is_current():
        return 0
    javac = find_javac()
    if javac is None:
        JAR.unlink(missing_ok=True)  # one of other sources would be worse than none
        print(WITHOUT, file=sys.stderr)
        return int(required)
    try:
        make(javac)
    except (JarError, OSError) as error:
        print(f"no penstock-spark.jar: {error}", file=sys.stderr)
        return 1
    print(f"{JAR.relative_to(ROOT)} ({JAR.stat().st_size / 1024:.0f} KiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Requirements of Spark, checked before it is started: the packages, Java, and a Python for its workers.

Spark itself would report a lack late and in its own words: "JAVA_HOME is not set", "UnsupportedClassVersionError", or,
ten seconds into the first query, "Python worker failed to connect back".
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from penstock.cli.terminal.errors import CommandError, ExitCode

JAVA_LEAST = 17
JAVA_HINT = "install it with `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME to another one"
EXTRA_HINT = "install them with: pip install 'penstock[spark]'"
PROBE_TIMEOUT_S = 60.0
_PACKAGES = ("pyspark", "pyarrow", "numba", "pandas", "grpc", "penstock_spark")
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
# They would replace the session that was asked for.
_NOT_PASSED_ON = ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE", "SPARK_CONNECT_MODE_ENABLED", "MASTER")
_SAFE_PATH = {"PYTHONSAFEPATH": "1"}  # no modules from the working directory; Python before 3.11 ignores it
_PROBE = "import sys, pyspark, pyspark_penstock; print(*sys.version_info[:2], pyspark.__version__)"


def spark_environ() -> dict[str, str]:
    """Return the environment for Spark's processes; CommandError if something that they need is missing."""
    check_packages()
    check_java()
    environ = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    return environ | {
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": worker_python(),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def spark_home() -> Path:
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def spark_jar() -> Path | None:
    """The part of the Spark source that runs in the JVM; None where it is not installed."""
    found = importlib.util.find_spec("penstock_spark")
    if found is None or found.origin is None:
        return None
    jar = Path(found.origin).parent / "jars" / "penstock-spark.jar"
    return jar if jar.exists() else None


def check_packages() -> None:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(f"pipelines need packages that are not installed: {', '.join(missing)}", hint=EXTRA_HINT)


def check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        where = f"there is no Java at JAVA_HOME={home}" if home else "Spark needs Java, which is not installed"
        raise CommandError(where, hint=JAVA_HINT)
    output = _output_of([java, "-version"])
    version = _VERSION.search(output)
    if version is None:
        raise CommandError(f"`{java} -version` does not show a version: {_last_line(output)}", hint=JAVA_HINT)
    if int(version[1]) < JAVA_LEAST:
        raise CommandError(f"{java} is Java {version[1]}, but Spark needs {JAVA_LEAST} or newer", hint=JAVA_HINT)


def worker_python() -> str:
    """Return this interpreter, or the one of PYSPARK_PYTHON, which must have the same packages."""
    named = os.environ.get("PYSPARK_PYTHON")
    if not named:
        return sys.executable
    hint = "unset it to use the Python of this command"
    path = shutil.which(named)
    if path is None:
        raise CommandError(f"PYSPARK_PYTHON={named} is not a program", ExitCode.USAGE, hint=hint)
    if os.path.realpath(path) == os.path.realpath(sys.executable) and Path(path).parent == Path(sys.executable).parent:
        return path
    output = _output_of([path, "-c", _PROBE])
    words = (_last_line(output)).split()
    if words[:2] != [str(number) for number in sys.version_info[:2]] or len(words) != 3:
        here = ".".join(map(str, sys.version_info[:2]))
        problem = f"PYSPARK_PYTHON={named} cannot run Penstock's source with Python {here}: {_last_line(output)}"
        raise CommandError(problem, ExitCode.USAGE, hint=hint)
    return path


def _output_of(command: list[str]) -> str:
    """Return everything that a program prints, or the reason why it cannot be run."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False, env=os.environ | _SAFE_PATH
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout + done.stderr


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it printed nothing"

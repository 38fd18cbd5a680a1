"""A standalone Spark cluster out of the pip package: a master and workers, each a process on loopback."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from penstock.cli.pipeline.spark_environment import spark_environ
from tests.support.broker_process import HOST, free_port
from tests.support.waiting import wait_until

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 20.0
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


@contextlib.contextmanager
def spark_cluster(directory: Path, *, hosts: Sequence[str] = (HOST, HOST)) -> Iterator[str]:
    """The address of the cluster, spark://…, once each of the hosts has a worker with one core."""
    environ = spark_environ()
    address = f"spark://{HOST}:{free_port()}"
    port = address.rpartition(":")[2]
    directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as running:
        flags = ["--host", HOST, "--port", port, "--webui-port", str(free_port())]
        running.enter_context(_process(directory / "master", environ, MASTER, *flags))
        wait_until(
            lambda: "I have been elected leader" in _log(directory / "master"),
            what="the master leads",
            within_s=START_DEADLINE_S,
        )
        for number, host in enumerate(hosts):
            home = directory / f"worker-{number}"
            flags = ["--host", host, "--port", str(free_port()), "--webui-port", str(free_port())]
            flags += ["--cores", "1", "--memory", "1g", "--work-dir", str(home / "work")]
            running.enter_context(_process(home, environ, WORKER, *flags, address))
        wait_until(
            lambda: _log(directory / "master").count("Registering worker") == len(hosts),
            what="the workers are registered",
            within_s=START_DEADLINE_S,
        )
        yield address


@contextlib.contextmanager
def _process(home: Path, environ: Mapping[str, str], *command: str) -> Iterator[None]:
    home.mkdir(parents=True)
    spark_class = f"{environ['SPARK_HOME']}/bin/spark-class"
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [spark_class, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=home, env=dict(environ)
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _log(home: Path) -> str:
    return (home / "log").read_text(errors="replace")

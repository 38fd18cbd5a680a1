"""Worker process of `penstock pipeline`: updates a project on a Spark Connect server and reports events, one per line.

    python -m penstock_spark.pipelines.worker REQUEST

Unlike `spark-pipelines run`, it reports the batches of every flow, and can make several updates on the same server.
REQUEST is JSON: the fields of `Request`. Events are JSON on stdout, as described in `penstock.cli.pipeline.events`;
everything that Spark or the project's definitions print goes to stderr. The exit code is 0 if the last update
completed, otherwise 1.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.pipelines.cli import PipelineSpec, load_pipeline_spec, register_definitions
from pyspark.pipelines.output import Output, Table
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run
from pyspark.sql import SparkSession
from pyspark.sql.connect.proto import Command

from penstock_spark.pipelines.failure import Failure, explained
from penstock_spark.pipelines.progress import ProgressListener
from penstock_spark.pipelines.sql_file import SqlFile

Tell = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    spec: str
    remote: str
    """sc://host:port"""
    patience_s: float
    """Time that the server may take until it listens."""
    storage: str
    configuration: Mapping[str, str]
    """Overrides that of the spec."""
    dry: bool = False
    full_refresh_all: bool = False
    full_refresh: Sequence[str] = ()
    refresh: Sequence[str] = ()
    every_s: float | None = None
    """The pause between updates; without it there is one."""
    show: Sequence[str] = ()
    show_rows: int = 1000


class UnknownTables(Exception):
    """Tables were asked for that the project does not define."""

    def __init__(self, wanted: Sequence[str], defined: Sequence[str]) -> None:
        known = f"the tables are {', '.join(sorted(defined))}" if defined else "the project defines no tables"
        super().__init__(f"table {', '.join(wanted)} does not exist; {known}")
        self.wanted = list(wanted)


class Registry(SparkConnectGraphElementRegistry):
    """Registry of definitions that also keeps the names of tables, and the SQL files for the places of mistakes."""

    def __init__(self, spark: SparkSession, graph: str, failure: Failure) -> None:
        super().__init__(spark, graph)
        self.tables: list[str] = []
        self._failure = failure

    def register_output(self, output: Output) -> None:
        super().register_output(output)
        if isinstance(output, Table):
            self.tables.append(output.name)

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        source = SqlFile(file_path, sql_text)
        try:
            super().register_sql(sql_text, file_path)
        except PySparkException as error:
            raise source.mistake(str(error)) from error
        self._failure.sources.append(source)
        self.tables += source.tables

    def drop(self) -> None:
        """Drop the graph: the server would keep it until the session ends, and with --watch each update has one."""
        command = Command()
        command.pipeline_command.drop_dataflow_graph.dataflow_graph_id = self._dataflow_graph_id
        self._client.execute_command(command)


class Worker:
    """Session with the server, for one update or many."""

    def __init__(self, request: Request, tell: Tell) -> None:
        self._request = request
        self._tell = tell
        self._spec_path = Path(request.spec)
        self._home = ""  # the database of its tables
        _wait_for(request.remote, request.patience_s)
        builder = SparkSession.builder.remote(request.remote)
        self._spark = builder.config("spark.sql.connect.serverStacktrace.enabled", "false").getOrCreate()

    def update(self) -> bool:
        """Make one update and return whether it completed."""
        listener = ProgressListener(self._tell)
        self._spark.streams.addListener(listener)
        failure = Failure(self._spec_path.parent)
        missing: list[str] = []
        try:
            tables = self._run(failure)
        except Exception as error:
            traceback.print_exc()
            failure.take_error(error)
            missing = error.wanted if isinstance(error, UnknownTables) else []
        finally:
            self._spark.streams.removeListener(listener)  # waits for its pending events
        if failure:
            self._tell({"kind": "failed", **failure.document(), "missing": missing})
            return False
        for name in self._request.show:
            self._show(name)
        self._tell({"kind": "completed", "tables": {} if self._request.dry else self._counts(tables)})
        return True

    def close(self) -> None:
        """Stop the session, and with it everything that the server runs for it."""
        self._spark.stop()

    def _run(self, failure: Failure) -> list[str]:
        """Load the definitions, bring the tables up to date, and return their names."""
        spark = self._spark
        spec = load_pipeline_spec(self._spec_path)  # each time, so that edits take effect
        database = spec.database or spark.catalog.currentDatabase()
        self._home = f"{spec.catalog}.{database}" if spec.catalog else database
        if spec.database:
            spark.sql(f"CREATE DATABASE IF NOT EXISTS {self._home}")
        graph = create_dataflow_graph(
            spark, default_catalog=spec.catalog, default_database=database, sql_conf=self._configured(spec)
        )
        registry = Registry(spark, graph, failure)
        try:
            with self._sightless():
                register_definitions(self._spec_path, registry, spec, spark, graph)
            self._check_shown(registry.tables)
            self._execute(graph, failure)
        finally:
            registry.drop()
        return registry.tables

    def _check_shown(self, defined: list[str]) -> None:
        """Refuse before the update, which may take long, a table that could not be shown after it."""
        known = {name.rpartition(".")[2].casefold() for name in defined}
        absent = [name for name in self._request.show if name.rpartition(".")[2].casefold() not in known]
        absent = [name for name in absent if not self._spark.catalog.tableExists(self._qualified(name))]
        if absent:
            raise UnknownTables(absent, defined)

    def _execute(self, graph: str, failure: Failure) -> None:
        request = self._request
        results = start_run(
            self._spark,
            graph,
            full_refresh=request.full_refresh,
            full_refresh_all=request.full_refresh_all,
            refresh=request.refresh,
            dry=request.dry,
            storage=request.storage,
        )
        for result in results:
            if "pipeline_event_result" in result:
                text = result["pipeline_event_result"].event.message
                sys.stderr.write(f"{text}\n")
                failure.take_message(text)
                self._tell({"kind": "message", "text": text})

    @contextlib.contextmanager
    def _sightless(self) -> Iterator[None]:
        """Use an empty database while definitions are registered.

        Spark 4.3 analyses some operators immediately, withColumn among them. If it found a table of the pipeline, left
        by an earlier run, it would treat it as one from outside and start the flow without waiting for it. A table that
        it does not find is left to the graph, or refused, as in the first run.
        """
        catalog, before = self._spark.catalog, self._spark.catalog.currentDatabase()
        empty = f"penstock_definitions_{uuid.uuid4().hex[:8]}"
        self._spark.sql(f"CREATE DATABASE {empty}")
        catalog.setCurrentDatabase(empty)
        try:
            yield
        finally:
            catalog.setCurrentDatabase(before)
            self._spark.sql(f"DROP DATABASE {empty}")

    def _configured(self, spec: PipelineSpec) -> dict[str, str]:
        """Apply and return the settings of the session; the server got all others at its start."""
        taken = {}
        for key, value in {**spec.configuration, **self._request.configuration}.items():
            if key.startswith("spark.") and not key.startswith("spark.sql."):
                continue
            try:
                self._spark.conf.set(key, value)
                taken[key] = value
            except PySparkException as error:
                sys.stderr.write(f"{key} is left to the server: {error}\n")
        return taken

    def _qualified(self, name: str) -> str:
        return name if "." in name else f"{self._home}.{name}"

    def _counts(self, tables: list[str]) -> dict[str, int]:
        places = {name: self._qualified(name) for name in sorted(tables)}
        there = {name: place for name, place in places.items() if self._spark.catalog.tableExists(place)}
        return {name: self._spark.table(place).count() for name, place in there.items()}

    def _show(self, name: str) -> None:
        try:
            table = self._spark.table(self._qualified(name))
            rows = [list(row) for row in table.limit(self._request.show_rows).collect()]
        except PySparkException as error:
            self._tell({"kind": "rows", "table": name, "columns": [], "rows": [], "error": explained(str(error))})
        else:
            self._tell({"kind": "rows", "table": name, "columns": table.columns, "rows": rows})


def _wait_for(remote: str, patience_s: float) -> None:
    """Wait until the server listens: it may have been started at the same time as this process."""
    address = urlsplit(remote)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            socket.create_connection((address.hostname or "localhost", address.port or 15002), 5.0).close()
        except OSError as error:
            if time.monotonic() >= deadline:
                raise ConnectionError(f"no Spark Connect server at {remote}: {error}") from None
            time.sleep(0.1)
        else:
            return


def _event_writer() -> Tell:
    """Reserve stdout for events; everything else that is printed goes to stderr from now on."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    lock = threading.Lock()  # the listener has a thread of its own

    def tell(event: Mapping[str, Any]) -> None:
        with lock:
            out.write(json.dumps(event, default=str) + "\n")

    return tell


def _ended(_signal: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


def main() -> None:
    tell = _event_writer()
    signal.signal(signal.SIGTERM, _ended)
    request = Request(**json.loads(sys.argv[1]))
    worker = Worker(request, tell)
    try:
        good = worker.update()
        while request.every_s is not None:
            time.sleep(request.every_s)
            good = worker.update()
    finally:
        worker.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

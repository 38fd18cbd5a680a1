"""`penstock spark`: what a Spark session of one's own needs from here. Pipelines have a group of their own."""

from __future__ import annotations

import typer

from penstock.cli.pipeline.spark_environment import EXTRA_HINT, spark_jar
from penstock.cli.terminal.errors import CommandError, ExitCode

app = typer.Typer(no_args_is_help=True, help="Give your own Spark sessions what they need.")


@app.callback()
def _group() -> None:
    """Give your own Spark sessions what they need."""


@app.command()
def jar() -> None:
    """Print the path of penstock-spark.jar, for `--jars` of spark-submit and for `spark.jars`."""
    found = spark_jar()
    if found is None:
        hint = f"{EXTRA_HINT}; in a clone, install a JDK and run `python -m tools.spark_jar`"
        raise CommandError("penstock-spark.jar is not installed", code=ExitCode.NOT_FOUND, hint=hint)
    print(found)

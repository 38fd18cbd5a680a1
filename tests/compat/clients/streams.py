"""Kafka Streams: the word count that comes with it, unmodified, as a process that is started, stopped and killed."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.kafka_process import JVM_OPTIONS

JARS: Final = Path(__file__).parents[1] / ".cache" / "streams"
WORD_COUNT: Final = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
APPLICATION: Final = "streams-wordcount"
INPUT: Final = "streams-plaintext-input"
OUTPUT: Final = "streams-wordcount-output"
STOP_SECONDS: Final = 30.0
# What the demo leaves open: where the broker is, and times short enough for a test.
SETTINGS: Final = {
    "commit.interval.ms": "200",
    "main.consumer.session.timeout.ms": "6000",
    "main.consumer.heartbeat.interval.ms": "500",
    "poll.ms": "50",
    "metadata.max.age.ms": "2000",
}


class WordCount:
    """One instance with a state directory of its own."""

    def __init__(self, bootstrap: str, directory: Path, settings: Mapping[str, str] = SETTINGS) -> None:
        directory.mkdir()
        self.state_directory = directory / "state"
        self.log_file = directory / "streams.log"
        self._properties = directory / "streams.properties"
        given = {"bootstrap.servers": bootstrap, "state.dir": str(self.state_directory), **settings}
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                ["java", *JVM_OPTIONS, "-cp", f"{JARS}/*", WORD_COUNT, str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def stop(self) -> None:
        """As Ctrl-C does: the counts are committed."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()  # a background job would inherit a SIGINT that is ignored
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the word count did not stop\n{self.log_tail()}") from None

    def kill9(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.wait()

    def forget_state(self) -> None:
        """All that it keeps on its own disk."""
        assert self.state_directory.is_dir()
        shutil.rmtree(self.state_directory)

    def log_tail(self, lines: int = 60) -> str:
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

"""`make fuzz`: every target for its share of the time, one after the other, on one processor.

Ends with 1 and the path of the input at the first finding. What a run learns stays in tests/fuzz/.cache, and the next
one goes on from there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Final

import psutil

from tests.fuzz.finding import HANG_CPU_SECONDS
from tests.fuzz.targets import CORPUS, REGRESSIONS, SHARES, load, regressions

TELL_SECONDS: Final = 15.0
# A call into native code, or a wait for what never comes, does not notice that its time is over; then the process is
# ended from outside. Time in which it was stopped, or had no processor, does not count.
STUCK_SECONDS: Final = 6 * HANG_CPU_SECONDS
RSS_LIMIT_MB: Final = 1_024
MAX_BYTES: Final = 8_192
# Numbers, magics and names at which code looks; libFuzzer puts them in here and there.
DICTIONARY: Final = r"""
"\x00\x00\x00\x00"
"\xff\xff\xff\xff"
"\x7f\xff\xff\xff"
"\x80\x00\x00\x00"
"\xff\xff\xff\xff\x0f"
"\xff\xff\xff\xff\x07"
"\x7f\xff\xff\xff\xff\xff\xff\xff"
"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
"\x82SNAPPY\x00"
"\x04\x22\x4d\x18"
"\x28\xb5\x2f\xfd"
"\x1f\x8b\x08"
"PSIX"
"PSTX"
"PSSN"
"t"
"g"
"consumer"
"range"
"compacted"
"stamped"
"zipped"
"__consumer_offsets"
"cleanup.policy"
"compact"
"retention.ms"
"compression.type"
"""


class Run:
    """One target's process."""

    def __init__(self, name: str, seconds: float, scratch: Path) -> None:
        self.name = name
        self.seconds = seconds
        self._at_hand = scratch / f"{name}.input"
        self._stats = scratch / f"{name}.json"
        self._output = scratch / f"{name}.log"
        self._told = 0.0
        self._runs = 0
        self._cpu_seconds = 0.0  # when `_runs` was last seen to rise
        self._asleep_seconds = 0  # since then
        self._scratch = scratch

    def fuzz(self) -> bool:
        """Whether nothing was found."""
        started = time.monotonic()
        with self._output.open("wb") as output, self._start(output) as process:
            watched = psutil.Process(process.pid)
            while process.poll() is None:
                try:
                    process.wait(1.0)
                except subprocess.TimeoutExpired:
                    pass
                if self._is_stuck(watched):
                    process.kill()
                    self._say(f"stuck: no input ended within {STUCK_SECONDS:.0f} s")
                    return self._found(process.wait() or 1)
                if time.monotonic() - started - self._told >= TELL_SECONDS:
                    self._told = time.monotonic() - started
                    self._tell()
        self._tell()
        return self._found(process.returncode)

    def _start(self, output: IO[bytes]) -> subprocess.Popen[bytes]:
        corpus = CORPUS / self.name
        corpus.mkdir(parents=True, exist_ok=True)
        given = self._scratch / f"{self.name}-seeds"
        given.mkdir()
        for content in [*load(self.name).seeds().values(), *(path.read_bytes() for path in regressions(self.name))]:
            (given / hashlib.sha1(content).hexdigest()).write_bytes(content)
        words = self._scratch / "words"
        words.write_text(DICTIONARY)
        options = [
            f"-max_len={MAX_BYTES}", f"-rss_limit_mb={RSS_LIMIT_MB}", "-timeout=1000000", "-len_control=20",
            f"-dict={words}", f"-artifact_prefix={self._scratch}/",
            str(corpus), str(given),
        ]  # fmt: skip
        command = [sys.executable, "-m", "tests.fuzz.one_target", self.name, str(self.seconds), str(self._stats)]
        return subprocess.Popen([*command, str(self._at_hand), *options], stdout=output, stderr=subprocess.STDOUT)

    def _is_stuck(self, process: psutil.Process) -> bool:
        """Looked at once a second."""
        runs, _ = self._progress()
        try:
            times, status = process.cpu_times(), process.status()
        except psutil.Error:
            return False
        used = times.user + times.system
        if runs != self._runs or not runs:  # loading and instrumenting takes as long as it takes
            self._runs, self._cpu_seconds, self._asleep_seconds = runs, used, 0
        elif status == psutil.STATUS_SLEEPING:
            self._asleep_seconds += 1
        return max(used - self._cpu_seconds, self._asleep_seconds) > STUCK_SECONDS

    def _progress(self) -> tuple[int, str]:
        try:
            stats = json.loads(self._stats.read_text())
        except (OSError, ValueError):
            return 0, "starting"
        rate = stats["runs"] / max(stats["seconds"], 0.1)
        text = f"{stats['seconds']:5.0f} of {self.seconds:.0f} s  {stats['runs']:>9,} runs  {rate:6,.0f}/s"
        return stats["runs"], f"{text}  {stats['rss'] >> 20:4} MiB"

    def _tell(self) -> None:
        coverage = re.findall(rb"cov: (\d+) ft: \d+ corp: (\d+)", self._output.read_bytes()[-20_000:])
        found = f"  coverage {int(coverage[-1][0]):,}, {int(coverage[-1][1]):,} inputs kept" if coverage else ""
        self._say(self._progress()[1] + found)

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')}  {self.name:<14} {text}", flush=True)

    def _found(self, code: int) -> bool:
        """The process ended: well, or at the input that it had at hand."""
        if code == 0:
            return True
        print("\n".join(self._output.read_text(errors="replace").splitlines()[-40:]))
        if self._at_hand.exists():
            noted = self._at_hand.read_bytes()
            data = noted[4 : 4 + int.from_bytes(noted[:4], "big")]
            kept = REGRESSIONS / f"{self.name}-{hashlib.sha1(data).hexdigest()[:8]}"
            kept.write_bytes(data)
            print(f"\nfound with {self.name}: {kept}")
            print(f"to see it again: python -m tests.fuzz.replay {kept}")
        return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3_600, help="for all targets together")
    parser.add_argument("targets", nargs="*", help="only these")
    arguments = parser.parse_args()
    names = arguments.targets or list(SHARES)
    share = arguments.seconds / sum(SHARES[name] for name in names)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="penstock-fuzz-") as scratch:
        for name in names:
            if not Run(name, share * SHARES[name], Path(scratch)).fuzz():
                return 1
    print(f"nothing found in {time.monotonic() - started:.0f} s with {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m penstock_spark.companion`: started by the part in Spark's JVM, and ends with it.

Standard output belongs to the answers; whatever prints, prints to standard error, as in Spark's own workers.
"""

from __future__ import annotations

import os
import signal
import sys

from penstock_spark import idle_clusters
from penstock_spark.companion.server import Server
from penstock_spark.reading import known_times


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends this process, too
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    idle_clusters.keep()
    known_times.keep()
    Server(sys.stdin.buffer, answers).run()
    os._exit(0)  # the driver has gone: nobody waits for what is still being done


if __name__ == "__main__":
    main()

"""What attacks over HTTP cost `clew serve`: memory and seconds.

    uv run python -m benchmarks.attacks

One server at default limits, on this machine alone: 3,000 sessions are asked for one after the
other, then 100 MB are sent as headers, twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.security import http_attacks as attacks

SESSIONS = 3000
HEADERS = 2
HEADER_BYTES = 100 << 20


def main() -> None:
    """Print the figures as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "clew", "serve", "--insecure", "--port", "0"]
        server = subprocess.Popen(
            [*command, "--store", folder], stderr=subprocess.PIPE, text=True, cwd=folder
        )
        try:
            assert server.stderr is not None
            url = server.stderr.readline().split()[-1]
            print(json.dumps(attacked(url, server.pid), indent=2))
        finally:
            server.terminate()
            server.wait()


def attacked(url: str, server: int) -> dict[str, object]:
    """Megabytes of the server before and after each attack, and what it answered."""
    time.sleep(5)  # until the model is loaded
    attacks.open_session(url)
    report: dict[str, object] = {"megabytes_before": resident(server)}
    started = time.perf_counter()
    statuses = Counter(attacks.open_session(url).status for _ in range(SESSIONS))
    report["sessions"] = {
        "answers": dict(statuses),
        "seconds": time.perf_counter() - started,
        "megabytes_after": resident(server),
    }
    ended = [attacks.one_long_header(url, HEADER_BYTES) for _ in range(HEADERS)]
    report["headers"] = {
        "answers": dict(Counter(end.status for end in ended)),
        "megabytes_taken_each": max(end.sent for end in ended) / 1e6,
        "seconds_each": max(end.seconds for end in ended),
        "megabytes_after": resident(server),
    }
    return report


def resident(process: int) -> float:
    """Megabytes of memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()

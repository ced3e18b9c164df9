"""A real Neo4j server for tests, started once a session and only where a test asks for it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.settings import Neo4jSettings

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Compiling and collecting for hours to come does not pay within minutes."""
SCRIPT = Path(__file__).parent.parent / "scripts" / "neo4j_server.py"


def neo4j_script(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/neo4j_server.py as a process of its own."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=900,  # the first one in CI downloads the server
        check=False,
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def check_server(done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test at a desk where the script failed, since Java may be missing; fail it in CI."""
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"{done.stderr.strip()}; or set NEO4J_URI, NEO4J_USER and NEO4J_PASSWORD")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def neo4j_address(request: pytest.FixtureRequest) -> str:
    """The address of the server that NEO4J_URI names, or of the one with plugins.

    All tests share it: each uses a namespace or labels of its own, and removes them.
    """
    return os.environ.get("NEO4J_URI") or str(request.getfixturevalue("gds_address"))


@pytest.fixture(scope="session")
def neo4j_settings() -> Neo4jSettings:
    """How to log in at `neo4j_address`."""
    return Neo4jSettings.model_validate(
        {
            "user": os.environ.get("NEO4J_USER", "neo4j"),
            "password": os.environ.get("NEO4J_PASSWORD", ""),
        }
    )


@pytest.fixture(scope="session")
def gds_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with APOC and the open part of Graph Data Science; no login.

    The one that is started here; its data are gone afterwards.
    """
    home, port = tmp_path_factory.mktemp("neo4j"), free_port()
    start = ("start", "--home", home, "--port", port, "--gds", "--apoc")
    check_server(neo4j_script(*start, JAVA_TOOL_OPTIONS=SHORT_LIVED))
    try:
        yield f"neo4j://127.0.0.1:{port}"
    finally:
        neo4j_script("stop", "--home", home)
        shutil.rmtree(home)

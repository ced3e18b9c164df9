"""The command line, whose server over HTTP has the suite's tools, resources and prompts, too."""

from __future__ import annotations

from pathlib import Path

from clew.cli import main
from clew.mcp import http
from clew.mcp.calls import Engines
from clew.mcp.server import ClewServer
from tests.mcp_fixtures import asking, contents, reading

without_fixtures = http.http_server


def with_fixtures(
    engines: Engines, *, insecure: bool = False, file: Path | None = None
) -> ClewServer:
    server = without_fixtures(engines, insecure=insecure, file=file)
    contents.mount(server)
    asking.mount(server)
    reading.mount(server)
    return server


if __name__ == "__main__":
    http.http_server = with_fixtures
    main()

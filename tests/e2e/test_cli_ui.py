"""`clew ui` as a person starts it: a real process, its address, and nobody else let in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.e2e.conftest import Library


def test_the_address_lets_one_in_and_nobody_else(indexed: Library, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "--store", str(indexed.store), "ui", "--no-open"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ,
    )
    try:
        assert process.stderr is not None
        address = process.stderr.readline().split()[-1]
        with httpx2.Client(follow_redirects=True, timeout=60) as owner:
            home = owner.get(address)
            documents = owner.get(address.partition("?")[0] + "documents")
        with httpx2.Client(follow_redirects=True, timeout=60) as other:
            again = other.get(address)
            protocol = other.post(address.partition("/ui")[0] + "/mcp", json={})
    finally:
        process.kill()
        process.communicate()

    assert urlsplit(address).hostname == "127.0.0.1"
    assert "Ask your documents" in home.text
    assert "The Mill at Harrow Ford" in documents.text
    assert "Log in" in again.text
    assert protocol.status_code == 401

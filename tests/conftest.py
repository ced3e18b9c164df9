"""What every test starts from: no settings from outside, no network in child processes either."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

# A slow machine must not fail a property: only what a test says counts, not how long it takes.
settings.register_profile(
    "clew", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("clew")

pytest_plugins = ["tests.neo4j_server", "tests.chroma_server"]


ISOLATION = "CLEW_LIMITS__ISOLATION"
"""Where documents are read; folders of tests that make thousands of engines set it to `none`."""


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where Python may not keep what it compiled, every process would compile all of it anew."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode:
            patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("compiled")))
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process hides all secrets that it was given, those of earlier tests among them."""
    monkeypatch.setattr("clew.errors._secrets", set())


@pytest.fixture(autouse=True)
def _no_outside_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CLEW_") and name != ISOLATION:
            monkeypatch.delenv(name)
    # pytest-socket guards this process alone; a child must not fetch a model.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling:
    """Share files between the processes of CI; one of them has all that ask Neo4j.

    Two servers on two cores would wait for each other, and each would plan every query anew.
    """

    @cache
    def group(file: str) -> str:
        text = (config.rootpath / file).read_text("utf-8")
        return "neo4j" if re.search("neo4j_address|gds_address|OnNeo4j|pack_stores", text) else file

    files = LoadFileScheduling(config, log)
    files._split_scope = lambda test: group(test.partition("::")[0])
    return files


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names that are the same in each process that shares the tests: of tokens and of sets."""
    if isinstance(val, set | frozenset):
        return "-".join(sorted(map(str, val)))
    return "token" if isinstance(val, str) and re.match(r"clew_|[0-9a-f]{64}$", val) else None

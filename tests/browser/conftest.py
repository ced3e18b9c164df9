"""The explorer in a real browser: a server in a thread, Chromium of the distribution."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

from clew import Clew
from clew.mcp.auth import new_token
from clew.mcp.calls import Engines
from clew.operations.toolbox import OPERATIONS
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.web.app import mount
from clew.web.request import Sessions
from tests.unit.mcp_tools import address_of, token_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SKERROW = Path(__file__).parent.parent.parent / "src" / "clew" / "cli" / "demo"
WATCH = """
window.reports = [];
document.addEventListener("securitypolicyviolation",
  (e) => reports.push(e.violatedDirective + " " + e.blockedURI));
"""
"""Keeps what the policy of a page refused."""


@dataclass
class Site:
    """A server, its first namespace's engine, and how to get in."""

    url: str
    engine: Clew
    sessions: Sessions
    token: str

    def door(self, path: str = "/ui/") -> str:
        """An address that logs in by itself."""
        return (
            f"{self.url}{path}{'&' if '?' in path else '?'}key={self.sessions.invite(self.token)}"
        )


class Watched:
    """What a browser had to complain of."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def add_page(self, page: Page) -> None:
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._refuse)

    def _refuse(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()


# For a module, not for the session: its event loop would stand in the way of asynchronous tests.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("CI has no Chromium; .ci/run installs it")
        pytest.skip("no Chromium on this machine: install the package chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield launched
        launched.close()


@contextmanager
def serving(settings: Settings, engine: Clew, token: str) -> Iterator[Site]:
    """The server with its pages."""
    sessions = Sessions(hours=1)
    engines = Engines(settings, OPERATIONS, engine)
    with address_of(engines, extend=partial(mount, sessions=sessions)) as url:
        yield Site(url, engine, sessions, token)


def settings_in(folder: Path, digest: str, *namespaces: str) -> Settings:
    """Of a server for one caller, who may do everything."""
    caller = token_of("ada", ("", digest), *namespaces, scopes=("read", "write", "admin"))
    return load_settings(
        store=folder,
        namespace=namespaces[0],
        serve={"tokens": [caller], "rate_per_minute": 100_000},
        limits={"isolation": "none"},
        access={"roots": [folder.parent]},
    )


@contextmanager
def site_in(folder: Path, *namespaces: str) -> Iterator[Site]:
    """A server over stores of its own."""
    token, digest = new_token()
    settings = settings_in(folder, digest, *namespaces)
    with (
        Clew(settings, embedder=HashEmbedder()) as engine,
        serving(settings, engine, token) as site,
    ):
        yield site


@pytest.fixture(scope="session")
def lights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The documents of the demo, for tests that only look."""
    with site_in(tmp_path_factory.mktemp("lights"), "lights", "empty") as site:
        for file in sorted(SKERROW.glob("*.md")):
            text = file.read_text("utf-8")
            title = text.partition("\n")[0].removeprefix("# ")
            before = text.replace("Fenn", "Fen", 1)  # of one there is a version of before
            for one in (before, text) if file.name == "tobias-fenn.md" else (text,):
                site.engine.add(one, source=file.name, title=title, media_type="text/markdown")
        yield site


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Checked at the end: no error on the console, no script that should not run."""
    watch = Watched()
    yield watch
    assert watch.errors == []


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 860})
    made.add_init_script(WATCH)
    made.set_default_timeout(10_000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, watched: Watched) -> Page:
    """A tab whose complaints fail the test."""
    made = context.new_page()
    watched.add_page(made)
    return made

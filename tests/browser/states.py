"""Every page of the explorer as it shows a store, by the route that serves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

import httpx2
from playwright.sync_api import Page

from clew.web.app import PAGES
from tests.browser.conftest import Site

ROUTES = {page.path for page in PAGES if page.method == "GET"}
"""What a browser can be led to; each must have a state below."""


@dataclass(frozen=True)
class State:
    """A page, perhaps after something was done on it."""

    name: str
    route: str
    path: str
    act: Callable[[Page], None] | None = None

    def visit(self, page: Page, site: Site) -> None:
        """Go there, and wait until all of it is there."""
        page.goto(f"{site.url}/ui/{self.path}")
        if page.locator("[data-graph]").count():
            page.locator(".picture.ready").first.wait_for()
        if self.act is not None:
            self.act(page)


def states(site: Site, question: str, name: str, document: str) -> list[State]:
    """Of a site with this entity, and with this document in two versions."""
    asked, called, engine = quote(question), quote(name), site.engine
    entity, file = engine.entities.get(name).id, engine.documents.get(document).id
    communities = engine.graph.communities(0, 1)
    return [
        State("welcome", "/", ""),
        State("ask", "/", f"?q={asked}", _open_all),
        State("ask-filtered", "/", f"?q={asked}&strategy=graph&limit=2&max_tokens=900"),
        State("compare", "/compare", f"?q={asked}", lambda page: _compare(page, document)),
        State("suggest", "/suggest", "", lambda page: _type(page, name[:6])),
        State("graph", "/graph", f"graph?question={asked}&entities={entity}"),
        State("graph-begin", "/graph", "graph"),
        State("graph-path", "/graph", _path(site, entity)),
        State("documents", "/documents", "documents"),
        State("document", "/documents/{document}", f"documents/{file}"),
        State("versions", "/documents/{document}/versions", f"documents/{file}/versions"),
        State("entities", "/entities", "entities"),
        State("entities-found", "/entities", f"entities?name={quote(name[:6])}"),
        State("entity-named", "/entity", f"entity?name={called}"),
        State("entity", "/entities/{entity}", f"entities/{entity}", _open_all),
        State("communities", "/communities", "communities"),
        *(
            State("community", "/communities/{community}", f"communities/{one.id}")
            for one in communities
        ),
        State("timeline-store", "/timeline", "timeline"),
        State("timeline", "/timeline", f"timeline?name={called}"),
        State("timeline-asked", "/timeline", f"timeline?q={asked}"),
        State("statistics", "/statistics", "statistics"),
        State("settings", "/settings", "settings"),
        State("merges", "/merges", "merges"),
        State("jobs", "/jobs", "jobs"),
        State("error", "", "none"),
    ]


def send(site: Site, **arguments: str) -> None:
    """Have a document indexed by a job, and wait for its end."""
    with httpx2.Client(
        base_url=f"{site.url}/api/v1", headers={"Authorization": f"Bearer {site.token}"}
    ) as api:
        job = api.post("/documents", json=arguments).json()["job_id"]
        while api.get(f"/jobs/{job}").json()["status"] in ("queued", "running"):
            pass


def _open_all(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def _compare(page: Page, document: str) -> None:
    page.get_by_label("A passage or document").fill(document)
    page.get_by_role("button", name="Compare").click()
    page.locator("#comparison > *").first.wait_for()


def _type(page: Page, text: str) -> None:
    page.get_by_role("combobox", name="Question").press_sequentially(text)
    page.locator("#suggestions option").first.wait_for(state="attached")


def _path(site: Site, entity: int) -> str:
    """The graph around an entity, with the path to a neighbour."""
    found = site.engine.tools.call("get_entity_neighbors", {"entity_id": entity}).content
    return f"graph?entities={entity}&from={entity}&to={found['neighbors'][0]['neighbor_id']}"

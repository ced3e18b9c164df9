"""Every page: hostile names stay text, nothing keeps anybody out, and how each looks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import Browser, Page

from clew.types import Document, NewEntity
from clew.web.app import PAGES
from tests.browser.conftest import WATCH, Site, Watched, site_in
from tests.browser.payloads import PAYLOADS

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


AXE = Path(__file__).parent.parent / "protocol" / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS = os.environ.get("CLEW_SCREENSHOTS")
"""A folder that pictures of the pages are written to; those of the documentation come from here."""
QUESTION = "Who taught the builder of the Skerrow Rock light?"
RUN = """async (rules) => {
  const only = rules.length ? { runOnly: { type: "rule", values: rules } } : {};
  const found = await axe.run(document, { resultTypes: ["violations"], ...only });
  return found.violations.filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => v.id + ": " + v.nodes.map((n) => n.target).join(" | "));
}"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store whose every title, name, source, relation and text is an attack."""
    with site_in(tmp_path_factory.mktemp("hostile"), "hostile") as site:
        engine = site.engine
        engine.add_documents(
            Document(
                source=f"{number} {payload}.md",
                text=f"Jonas Reed saw {payload} in Harrow Ford.\n\n{payload}",
                title=f"{payload} {number}",
                metadata={"author": payload, "topic": payload},
            )
            for number, payload in enumerate(PAYLOADS)
        )
        names = [f"{payload} {number}" for number, payload in enumerate(PAYLOADS)]
        engine.entities.memory.add_entities([NewEntity(name=n, content=n) for n in names])
        relations = [
            {"from": one, "to": other, "relationType": f"says {one}"[:60]}
            for one, other in pairwise(names)
        ]
        made = engine.tools.call("create_relations", {"relations": relations})
        assert not made.is_error, made.text
        # Another version of one, by a job.
        payload = PAYLOADS[0]
        text = f"Jonas Reed heard {PAYLOADS[1]} in Harrow Ford.\n\n{payload}"
        send(site, text=text, source=f"0 {payload}.md", title=payload)
        yield site


def of_lights(site: Site) -> list[State]:
    """Every page of the demo's store, and of an empty one."""
    found = states(site, QUESTION, "Ilse Marrable", "tobias-fenn.md")
    return [*found, State("empty", "", "?namespace=empty")]


def entity_addresses(site: Site) -> list[str]:
    found = (site.engine.entities.find(p[:40], 3) for p in PAYLOADS)
    return sorted({f"entities/{entity.id}" for some in found for entity in some})


def test_hostile_names_stay_text(page: Page, hostile: Site, watched: Watched) -> None:
    page.goto(hostile.door())
    name = PAYLOADS[0] + " 0"
    every = states(hostile, f"Jonas Reed {PAYLOADS[1]}", name, f"0 {PAYLOADS[0]}.md")
    assert {state.route for state in every} - {""} == ROUTES
    # The lists show all of them; of the single pages some stand for the others.
    more = [f"documents/{d.id}" for d in hostile.engine.documents.list()][::6]
    more += entity_addresses(hostile)[::6]
    assert len(more) > 15
    assert len(set(PAYLOADS)) >= 60
    for state in (*every, *(State(path, "", path) for path in more)):
        state.visit(page, hostile)
        harmless(page, state.name)
    watched.errors = [error for error in watched.errors if "404" not in error]


def test_hostile_names_stay_text_when_they_are_changed(page: Page, hostile: Site) -> None:
    page.goto(hostile.door())
    page.goto(f"{hostile.url}/ui/entities/{hostile.engine.entities.get(PAYLOADS[2] + ' 2').id}")
    page.get_by_label("Show it as").fill(PAYLOADS[3])
    page.get_by_role("button", name="Rename").click()
    page.locator(".done").wait_for()
    harmless(page, "renamed")
    page.locator(".done").get_by_role("button").click()
    page.wait_for_load_state()
    harmless(page, "taken back")


def harmless(page: Page, name: str) -> None:
    """No script ran, none was refused, and no markup of the documents became markup."""
    assert page.evaluate("reports") == [], name
    assert page.evaluate("typeof pwned") == "undefined", name
    strange = "script:not([src]), iframe, object, embed, base, [onerror], [onload], [onclick]"
    assert page.locator(strange).count() == 0, name


def test_hostile_questions_stay_text(page: Page, hostile: Site) -> None:
    page.goto(hostile.door())
    for payload in PAYLOADS[::12]:
        page.goto(f"{hostile.url}/ui/")
        page.get_by_role("combobox", name="Question").fill(payload)
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/?*q=*")
        harmless(page, payload)
        assert page.locator("#q").input_value() == " ".join(payload.splitlines())


LOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("light", {"viewport": {"width": 1280, "height": 860}}),
    ("dark", {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"}),
    ("phone", {"viewport": {"width": 360, "height": 740}, "has_touch": True}),
)


@pytest.mark.parametrize(("look", "options"), LOOKS)
def test_nothing_keeps_anybody_out(
    browser: Browser, watched: Watched, lights: Site, look: str, options: dict[str, Any]
) -> None:
    """Whatever the colours, and however small the screen."""
    if look != "phone" and not (AXE.is_file() or os.environ.get("CI")):
        pytest.skip("axe-core is not here: run `uv run python scripts/protocol.py` first")
    with browser.new_context(**options) as context:
        context.set_default_timeout(30_000)
        context.add_init_script(WATCH)
        page = context.new_page()
        watched.add_page(page)
        page.goto(f"{lights.url}/ui/login")
        _check(page, "login", look)
        page.goto(lights.door())
        for state in of_lights(lights):
            state.visit(page, lights)
            _check(page, state.name, look)
    watched.errors = [error for error in watched.errors if "404" not in error]


def _check(page: Page, name: str, look: str) -> None:
    """Nothing serious; a picture for the documentation where one is wanted."""
    if look == "phone":
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, f"{name} is {width} pixels wide"
    else:
        page.evaluate(AXE.read_text("utf-8"))
        # The dark has other colours, and nothing else.
        rules = ["color-contrast"] if look == "dark" else []
        assert page.evaluate(RUN, rules) == [], name
    assert page.evaluate("reports") == [], name
    if SCREENSHOTS:
        page.wait_for_timeout(300)
        page.screenshot(path=f"{SCREENSHOTS}/{name}-{look}.png")


def test_a_server_that_fails_or_is_gone_is_told(page: Page, lights: Site, watched: Watched) -> None:
    page.goto(lights.door(f"/ui/?q={QUESTION}"))
    page.get_by_label("A passage or document").fill("Tobias Fenn")
    page.route("**/ui/compare*", lambda route: route.fulfill(status=500, body="broken"))
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("The server answered 500").wait_for()
    page.route("**/ui/compare*", lambda route: route.abort())
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("The server does not answer").wait_for()
    page.route("**/api/v1/graph*", lambda route: route.abort())
    page.reload()
    page.get_by_text("The graph could not be loaded").wait_for()
    assert page.locator(".hit").count() > 0
    watched.errors.clear()

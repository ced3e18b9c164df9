"""Answers of a language model in a browser: as they are written, with their sources, or failing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from clew import Clew
from clew.errors import ModelUnavailableError
from clew.mcp.auth import new_token
from clew.ports.models import Reply, Request
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from tests.browser.conftest import Site, Watched, serving, settings_in, site_in
from tests.browser.payloads import PAYLOADS

QUESTION = "Who built the great clock of Vell?"
TEXTS = {
    "Vell": "Ada Morn built the great clock of Vell in 1820.",
    "Ada Morn": "Ada Morn was born in Dunmere. Her teacher was Tobias Fenn.",
}


class Slow(ScriptedLanguageModel):
    """Writes the first statement, then waits until it may go on."""

    def __init__(self) -> None:
        quoted = ["Ada Morn built the great clock of Vell", "Her teacher was Tobias Fenn"]
        told = ["It was Ada Morn.", "Tobias Fenn taught her."]
        super().__init__({QUESTION: ""})
        self.parts = [
            {"quotes": [{"passage": n, "words": words}], "statement": text}
            for n, words, text in zip((1, 2), quoted, told, strict=True)
        ]
        self.go_on = threading.Event()

    def stream(self, request: Request) -> Iterator[str | Reply]:
        first, second = (json.dumps(part) for part in self.parts)
        yield f'{{"statements": [{first}, '
        self.go_on.wait(20)
        yield f"{second}]}}"
        yield Reply(text=f'{{"statements": [{first}, {second}]}}', finish="stop", model=self.name)


class Hostile(ScriptedLanguageModel):
    """Answers with markup."""

    def stream(self, request: Request) -> Iterator[str | Reply]:
        quote = {"passage": 1, "words": "Ada Morn built the great clock of Vell"}
        told = [{"quotes": [quote], "statement": payload} for payload in PAYLOADS]
        text = json.dumps({"statements": told})
        yield from (text[at : at + 50] for at in range(0, len(text), 50))
        yield Reply(text=text, finish="stop", model=self.name)


class Away(ScriptedLanguageModel):
    """Cannot be reached."""

    def reply(self, request: Request) -> Reply:
        raise ModelUnavailableError("the model's server at 127.0.0.1 does not answer")


@contextmanager
def asked_of(folder: Path, model: ScriptedLanguageModel, seconds: float = 30) -> Iterator[Site]:
    token, digest = new_token()
    settings = settings_in(folder, digest, "clocks")
    serve = settings.serve.model_copy(update={"request_seconds": seconds})
    settings = settings.model_copy(update={"serve": serve})
    with (
        Clew(settings, embedder=HashEmbedder(), language_model=model) as engine,
        serving(settings, engine, token) as site,
    ):
        for title, text in TEXTS.items():
            engine.add(text, source=title, title=title)
        yield site


def test_an_answer_shows_as_it_is_written_and_leads_to_its_sources(
    page: Page, tmp_path: Path
) -> None:
    model = Slow()
    with asked_of(tmp_path, model) as site:
        page.goto(site.door())
        page.goto(f"{site.url}/ui/?q={QUESTION}")
        answer = page.locator("#answer .passage")
        expect(answer).to_contain_text("It was Ada")
        expect(answer).not_to_contain_text("taught")
        expect(page.locator(".hit")).to_have_count(2)
        model.go_on.set()
        expect(answer).to_contain_text("Tobias Fenn taught her.")
        links = answer.locator("a")
        expect(links).to_have_text(["[1]", "[2]"])
        links.nth(1).click()
        place = page.locator(":target")
        expect(place).to_be_in_viewport()
        expect(place).to_contain_text("Her teacher was Tobias Fenn")


def test_markup_of_a_model_stays_text(page: Page, tmp_path: Path) -> None:
    with asked_of(tmp_path, Hostile({})) as site:
        page.goto(site.door())
        page.goto(f"{site.url}/ui/?q={QUESTION}")
        statements = page.locator("#answer .passage p")
        expect(statements.first).to_be_visible()
        shown = " ".join(statements.all_text_contents())
        assert sum(" ".join(p.split()) in " ".join(shown.split()) for p in PAYLOADS) > 5
        assert page.locator("#answer .passage :not(p, a)").count() == 0
        assert page.evaluate("reports") == []
        assert page.evaluate("typeof pwned") == "undefined"


def test_without_the_model_the_documents_answer(page: Page, tmp_path: Path) -> None:
    with asked_of(tmp_path, Away({})) as site:
        page.goto(site.door())
        page.goto(f"{site.url}/ui/?q={QUESTION}")
        expect(page.locator("#answer .passage")).to_contain_text("Ada Morn built the great clock")
        expect(page.locator("#answer")).to_contain_text("does not answer")


def test_a_model_that_is_too_slow_is_given_up(page: Page, tmp_path: Path) -> None:
    model = Slow()
    with asked_of(tmp_path, model, seconds=3) as site:
        page.goto(site.door())
        page.goto(f"{site.url}/ui/?q={QUESTION}")
        expect(page.locator("#answer")).to_contain_text("took longer than the 3 seconds")
        expect(page.get_by_role("button", name="Answer in sentences")).to_be_visible()
        expect(page.locator(".hit")).to_have_count(2)
        model.go_on.set()


def test_the_answer_heeds_the_filters_of_the_page(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.goto(f"{lights.url}/ui/?q=the harbour&limit=2&as_of=2100")
    with page.expect_request("**/api/v1/ask") as asked:
        page.get_by_role("button", name="Answer in sentences").click()
    sent = asked.value.post_data_json or {}
    assert {"top_k": 2, "as_of": "2100", "query": "the harbour"}.items() <= sent.items()


def test_two_collections_side_by_side(browser: Browser, watched: Watched, tmp_path: Path) -> None:
    """Two tabs of one browser, each in a collection of its own; neither shows the other's."""
    with site_in(tmp_path, "fords", "bridges") as site:
        site.engine.add("Nell Hart keeps the ford of Ister.", source="a", title="The Ford")
        context = browser.new_context()
        first, second = context.new_page(), context.new_page()
        for tab in (first, second):
            watched.add_page(tab)
        first.goto(site.door())
        second.goto(f"{site.url}/ui/?namespace=bridges")
        second.get_by_role("button", name="Add the demo").click()
        expect(second.locator(".hit").first).to_be_visible(timeout=30_000)
        for tab, own, other in (
            (first, "Nell Hart", "Tobias Fenn"),
            (second, "Tobias Fenn", "Nell Hart"),
        ):
            about = "" if tab is first else "&namespace=bridges"
            for path in (f"?q={own}{about}", f"entities?name={own[:4]}{about}"):
                tab.goto(f"{site.url}/ui/{path}")
                expect(tab.locator("main")).to_contain_text(own)
                expect(tab.locator("main")).not_to_contain_text(other)
        context.close()

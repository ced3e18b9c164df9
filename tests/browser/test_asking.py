"""Asking and answering in a browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from clew import Clew
from clew.errors import ModelUnavailableError, StoreUnavailableError
from clew.mcp.auth import new_token
from clew.ports import Reply, Request
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from tests.browser.conftest import Site, serving, settings_in
from tests.browser.payloads import PAYLOADS

# --- Asking in a browser: the hits, their threads, and the pages that these lead to.


QUESTION = "Who taught the builder of the Skerrow Rock light?"


@pytest.fixture
def page(page: Page, lights: Site) -> Page:
    """A tab that is logged in."""
    page.goto(lights.door())
    return page


def test_a_question_is_followed_to_the_entity_and_back(page: Page, lights: Site) -> None:
    page.get_by_role("combobox", name="Question").fill(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/?q=*")
    hits = page.locator(".hit")

    assert hits.count() == len(lights.engine.search(QUESTION).hits)
    assert page.locator(".hit mark").count() > 0

    thread = page.locator(".thread", has_text="Ilse Marrable").first
    thread.get_by_role("link", name="Ilse Marrable").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ilse Marrable")
    page.go_back()
    expect(page.get_by_role("combobox", name="Question")).to_have_value(QUESTION)
    assert hits.count() > 0
    page.go_forward()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ilse Marrable")


def test_a_passage_that_was_not_first_is_compared(page: Page, lights: Site) -> None:
    page.goto(f"{lights.url}/ui/?q={QUESTION}")
    for given, told in (("Tobias Fenn", "nearness in meaning"), ("no such thing", "no such thing")):
        page.get_by_label("A passage or document").fill(given)
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#comparison")).to_contain_text(told)


def test_all_is_done_by_keyboard(page: Page) -> None:
    page.keyboard.type("Who was Ilse")
    expect(page.locator('datalist option[value="Who was Ilse Marrable"]')).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/?q=*")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.hit h2 a')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/documents/*")


@pytest.mark.parametrize("fails", [False, True])
def test_what_takes_long_shows_its_frame_at_once(
    page: Page, lights: Site, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Hits as they come: whole, and before whatever else is slow; until then the page says so."""
    go_on, search = threading.Event(), lights.engine.search

    def slow(*args: str, **options: Any) -> object:  # noqa: ANN401
        go_on.wait(60)
        if fails:
            raise StoreUnavailableError("the database does not answer; start it, then ask again")
        return search(*args, **options)

    monkeypatch.setattr(lights.engine, "search", slow)
    page.goto(f"{lights.url}/ui/?q={QUESTION}", wait_until="commit")
    waiting = page.locator(".waiting")
    expect(waiting).to_contain_text(QUESTION)
    expect(page.get_by_role("link", name="Documents", exact=True)).to_be_visible()
    assert page.locator(".hit").count() == 0
    go_on.set()
    if fails:
        expect(page.locator(".error")).to_contain_text("start it, then ask again")
    else:
        expect(page.locator(".hit").first).to_be_visible()
        assert page.title().startswith(QUESTION)
    expect(waiting).to_be_hidden()


# --- Answers of a language model in a browser: as they are written, with their sources, or
# failing.


ANSWERING_QUESTION = "Who built the great clock of Vell?"
TEXTS = {
    "Vell": "Ada Morn built the great clock of Vell in 1820.",
    "Ada Morn": "Ada Morn was born in Dunmere. Her teacher was Tobias Fenn.",
}


def written(*statements: tuple[int, str, str]) -> str:
    """What a model writes: of each statement the passage, words of it, and the statement."""
    told = [
        {"quotes": [{"passage": number, "words": words}], "statement": text}
        for number, words, text in statements
    ]
    return json.dumps({"statements": told})


BUILT = "Ada Morn built the great clock of Vell"


class Slow(ScriptedLanguageModel):
    """Writes the first statement, then waits until it may go on."""

    def __init__(self) -> None:
        super().__init__({ANSWERING_QUESTION: ""})
        taught = (2, "Her teacher was Tobias Fenn", "Tobias **Fenn** taught her.")
        self.text = written((1, BUILT, "It was Ada Morn."), taught)
        self.go_on = threading.Event()

    def stream(self, request: Request) -> Iterator[str | Reply]:
        first, between, second = self.text.partition("}, ")
        yield first + between
        self.go_on.wait(20)
        yield second
        yield Reply(text=self.text, finish="stop", model=self.name)


class Hostile(ScriptedLanguageModel):
    """Answers with markup."""

    def stream(self, request: Request) -> Iterator[str | Reply]:
        text = written(*((1, BUILT, payload) for payload in PAYLOADS))
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
    settings = settings.model_copy(
        update={"serve": settings.serve.model_copy(update={"request_seconds": seconds})}
    )
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
        page.goto(site.door(f"/ui/?q={ANSWERING_QUESTION}"))
        answer = page.locator("#answer .passage")
        expect(answer).to_contain_text("It was Ada")
        expect(answer).not_to_contain_text("taught")
        expect(page.locator(".hit")).to_have_count(2)
        model.go_on.set()
        expect(answer).to_contain_text("Tobias Fenn taught her.")
        expect(page.get_by_text("No passage is likely to answer")).to_have_count(0)
        expect(answer.locator("a")).to_have_text(["[1]", "[2]"])
        answer.locator("a").nth(1).click()
        expect(page.locator(":target")).to_be_in_viewport()
        expect(page.locator(":target")).to_contain_text("Her teacher was Tobias Fenn")


def test_markup_of_a_model_stays_text(page: Page, tmp_path: Path) -> None:
    with asked_of(tmp_path, Hostile({})) as site:
        page.goto(site.door(f"/ui/?q={ANSWERING_QUESTION}"))
        statements = page.locator("#answer .passage p")
        expect(statements.first).to_be_visible()
        shown = " ".join(statements.all_text_contents())
        assert sum(" ".join(p.split()) in " ".join(shown.split()) for p in PAYLOADS) > 5
        assert page.locator("#answer .passage :not(p, a)").count() == 0
        assert page.evaluate("reports") == []
        assert page.evaluate("typeof pwned") == "undefined"


def test_without_the_model_the_documents_answer(page: Page, tmp_path: Path) -> None:
    with asked_of(tmp_path, Away({})) as site:
        page.goto(site.door(f"/ui/?q={ANSWERING_QUESTION}"))
        expect(page.locator("#answer .passage")).to_contain_text("Ada Morn built the great clock")
        expect(page.locator("#answer")).to_contain_text("does not answer")


def test_a_model_that_is_too_slow_is_given_up(page: Page, tmp_path: Path) -> None:
    model = Slow()
    with asked_of(tmp_path, model, seconds=3) as site:
        page.goto(site.door(f"/ui/?q={ANSWERING_QUESTION}"))
        expect(page.locator("#answer")).to_contain_text("took longer than the 3 seconds")
        expect(page.get_by_role("button", name="Answer in sentences")).to_be_visible()
        expect(page.locator(".hit")).to_have_count(2)
        model.go_on.set()


def test_the_answer_heeds_the_filters_of_the_page(page: Page, lights: Site) -> None:
    page.goto(f"{lights.url}/ui/?q=the harbour&limit=2&as_of=2100")
    with page.expect_request("**/api/v1/ask") as asked:
        page.get_by_role("button", name="Answer in sentences").click()
    assert {"top_k": 2, "as_of": "2100", "query": "the harbour"}.items() <= (
        asked.value.post_data_json or {}
    ).items()
    expect(page.get_by_role("button", name="Answer in sentences")).to_be_hidden()

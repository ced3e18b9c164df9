"""Asking in a browser: the hits, their threads, and the pages that these lead to."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import Page, expect

from clew.errors import StoreUnavailableError
from clew.web.passages import plain
from tests.browser.conftest import Site

QUESTION = "Who taught the builder of the Skerrow Rock light?"


def test_a_question_is_followed_to_the_entity_and_back(page: Page, lights: Site) -> None:
    page.goto(lights.door())
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


def test_the_answering_sentence_is_marked(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.goto(f"{lights.url}/ui/?q={QUESTION}")
    for number, hit in enumerate(lights.engine.search(QUESTION).hits, 1):
        start, end = hit.answer or (0, 0)
        expected = hit.chunk.text[start - hit.chunk.start : end - hit.chunk.start] if end else ""
        marked = "".join(page.locator(f"#hit-{number} mark").all_text_contents())
        assert marked.split() == plain(expected).split()


def test_an_answer_is_written_with_its_sources(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.goto(f"{lights.url}/ui/?q={QUESTION}")
    page.get_by_role("button", name="Answer in sentences").click()
    expect(page.locator("#answer a").first).to_be_visible()
    said = lights.engine.ask(QUESTION)
    shown = page.locator("#answer .passage p").all_text_contents()

    assert len(shown) == len(said.statements)
    assert shown[0].startswith(said.statements[0].text)
    page.locator("#answer a").first.click()
    number = page.url.rpartition("#hit-")[2]
    expect(page.locator(f"#hit-{number} h2")).to_have_text(said.sources[0].title)


def test_filters_stand_in_the_address(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.goto(f"{lights.url}/ui/?q=the harbour&strategy=keyword&limit=2")

    assert page.locator(".hit").count() == 2
    expect(page.get_by_label("Strategy")).to_have_value("keyword")
    expect(page.locator(".facts").first).to_contain_text("keyword")


def test_names_are_offered_while_typing(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.get_by_role("combobox", name="Question").press_sequentially("Who was Ilse")
    offered = page.locator('datalist option[value="Who was Ilse Marrable"]')

    expect(offered).to_have_count(1)


def test_a_passage_that_was_not_first_is_compared(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.goto(f"{lights.url}/ui/?q={QUESTION}")
    page.get_by_label("A passage or document").fill("Tobias Fenn")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#comparison")).to_contain_text("It is number")
    expect(page.locator("#comparison tbody tr")).not_to_have_count(0)
    expect(page.locator("#comparison")).to_contain_text("nearness in meaning")
    page.get_by_label("A passage or document").fill("no such thing")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#comparison")).to_contain_text("no such thing")


def test_a_document_shows_the_names_that_the_graph_knows(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.goto(f"{lights.url}/ui/documents")
    page.get_by_role("link", name="Tobias Fenn").click()
    expect(page.locator(".named").first).to_be_visible()
    page.locator(".named").first.click()
    page.wait_for_url("**/ui/entities/*")


def test_an_empty_store_explains_itself(page: Page, lights: Site) -> None:
    page.goto(lights.door("/ui/?namespace=empty"))
    for path in ("", "documents", "entities"):
        page.goto(f"{lights.url}/ui/{path}?namespace=empty")
        expect(page.get_by_text("clew index FOLDER")).to_be_visible()


def test_namespaces_stay_apart(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.get_by_label("Collection").select_option("empty")
    page.get_by_role("button", name="Go").click()
    page.get_by_role("combobox", name="Question").fill(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url("**namespace=empty*")

    assert page.locator(".hit").count() == 0


def test_a_token_logs_in_and_out(page: Page, lights: Site) -> None:
    page.goto(f"{lights.url}/ui/documents")
    page.get_by_label("Token").fill(lights.token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Documents")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    page.goto(f"{lights.url}/ui/documents")
    expect(page.get_by_label("Token")).to_be_visible()


def test_all_is_done_by_keyboard(page: Page, lights: Site) -> None:
    page.goto(lights.door())
    page.keyboard.type("Tobias Fenn")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/?q=*")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.hit h2 a')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/documents/*")


def test_what_takes_long_shows_its_frame_at_once(
    page: Page, lights: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hits as they come: whole, and before whatever else is slow; until then the page says so."""
    go_on, search = threading.Event(), lights.engine.search

    def slow(*args: str, **options: object) -> object:
        go_on.wait(60)
        return search(*args, **options)  # type: ignore[arg-type]

    page.goto(lights.door())
    monkeypatch.setattr(lights.engine, "search", slow)
    page.goto(f"{lights.url}/ui/?q={QUESTION}", wait_until="commit")
    waiting = page.locator(".waiting")
    expect(waiting).to_be_visible()
    expect(waiting).to_contain_text(QUESTION)
    expect(page.get_by_role("link", name="Documents", exact=True)).to_be_visible()
    assert page.locator(".hit").count() == 0
    go_on.set()
    expect(page.locator(".hit").first).to_be_visible()
    expect(waiting).to_be_hidden()
    page.locator(".picture.ready").wait_for()
    assert page.title().startswith(QUESTION)


def test_what_fails_late_says_what_to_do(
    page: Page, lights: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def away(*args: str, **options: object) -> None:
        go_on.wait(60)
        raise StoreUnavailableError("the database does not answer; start it, then ask again")

    page.goto(lights.door())
    monkeypatch.setattr(lights.engine, "search", away)
    page.goto(f"{lights.url}/ui/?q={QUESTION}", wait_until="commit")
    expect(page.locator(".waiting")).to_be_visible()
    go_on.set()
    expect(page.locator(".error")).to_contain_text("start it, then ask again")
    expect(page.locator(".waiting")).to_be_hidden()

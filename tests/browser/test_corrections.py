"""Putting right in a browser, and documents that come and go; each test has a store of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from clew.errors import InputError
from clew.indexing.inputs import RawInput
from tests.browser.conftest import Site, site_in

TEXTS = {
    "mill": "Jonas Reed built the mill at Harrow Ford. Jonas Reed works for Tarn Abbey.",
    "abbey": "J. Reed repaired the roof of Tarn Abbey. Tarn Abbey is part of the Lorne Estate.",
    "guild": "Mara Lind works for the Weavers Guild. Mara Lind met Jonas Reed in Harrow Ford.",
    "said": "We heard that Ada Keller said no.",
    "met": "They met A. Keller there.",
}


@pytest.fixture
def mills(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path, "mills", "bells") as site:
        for source, text in TEXTS.items():
            site.engine.add(text, source=source, title=f"The {source}")
        yield site


def entity_page(page: Page, site: Site, name: str) -> None:
    page.goto(site.door(f"/ui/entity?name={name}"))


def test_merging_and_taking_it_back(page: Page, mills: Site) -> None:
    entities = mills.engine.entities
    reed = entities.get("Jonas Reed").id
    entity_page(page, mills, "Mara Lind")
    page.get_by_label("It is the same as").fill("Jonas Reed")
    page.get_by_role("button", name="Merge").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jonas Reed")
    assert entities.get("Mara Lind").id == reed
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mara Lind")
    assert entities.get("Mara Lind").id != entities.get("Jonas Reed").id == reed
    names = [entry.tool for entry in mills.engine.maintenance.audit()]
    assert names[:2] == ["undo_change", "merge_entities"]


@pytest.mark.parametrize(
    ("field", "given", "button", "shown"),
    [
        ("Show it as", "Abbey of Tarn", "Rename", "h1"),
        ("It is a", "monastery", "Retype", ".head .type"),
    ],
)
def test_editing_and_taking_it_back(
    page: Page, mills: Site, field: str, given: str, button: str, shown: str
) -> None:
    entity_page(page, mills, "Tarn Abbey")
    before = page.locator(shown).text_content() or ""
    page.get_by_label(field, exact=True).fill(given)
    page.get_by_role("button", name=button).click()
    expect(page.locator(shown)).to_have_text(given)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(shown)).to_have_text(before)


def test_suggestions_are_accepted_or_refused(page: Page, mills: Site) -> None:
    expected = mills.engine.entities.suggest()
    page.goto(mills.door("/ui/merges"))
    assert expected
    assert page.locator("tbody tr").count() == len(expected)
    page.get_by_role("button", name="are two").first.click()
    page.wait_for_load_state()
    assert len(mills.engine.entities.suggest()) == len(expected) - 1
    page.reload()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_load_state()
    assert mills.engine.entities.suggest() == expected


def test_a_change_is_taken_back_from_the_log_after_a_reload(page: Page, mills: Site) -> None:
    before = mills.engine.graph.relations("Jonas Reed")
    entity_page(page, mills, "Jonas Reed")
    page.get_by_role("button", name="Confirm ").first.click()
    expect(page.locator(".done")).to_contain_text("stated by hand")
    said = [
        sum(r.statements for r in found)
        for found in (before, mills.engine.graph.relations("Jonas Reed"))
    ]
    assert said[1] == said[0] + 1
    entity_page(page, mills, "Jonas Reed")
    expect(page.locator(".done")).to_have_count(0)
    page.get_by_role("region", name="Changed by hand").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("region", name="Changed by hand")).to_have_count(0)
    assert mills.engine.graph.relations("Jonas Reed") == before
    page.goto(f"{mills.url}/ui/statistics")
    expect(page.get_by_role("region", name="What was changed")).to_contain_text("undo_change")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def send(page: Page, file: Path, text: str) -> None:
    """Drop a file on the page."""
    file.write_text(text, encoding="utf-8")
    page.get_by_label("Drop files here").set_input_files(file)
    page.get_by_role("button", name="Add", exact=True).click()


def test_a_file_that_fails_is_sent_again_from_the_page(
    page: Page, mills: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> bytes:
        raise InputError("the disk is away")

    page.goto(mills.door("/ui/documents"))
    again = page.get_by_role("link", name="Send rope.md again")
    with monkeypatch.context() as broken:
        broken.setattr(RawInput, "read", away)
        send(page, tmp_path / "rope.md", "Edda Rowe made the bell rope.")
        again.wait_for(timeout=20_000)
        expect(page.locator("#jobs")).to_contain_text("the disk is away")
    again.click()
    expect(page.locator(".status")).to_have_text("completed", timeout=20_000)
    expect(page.get_by_role("region", name="Documents")).to_contain_text("upload/rope.md")
    expect(page.locator("#total")).to_have_text("6 documents")
    page.get_by_role("link", name="Jobs").click()
    expect(again).to_be_visible()


def test_a_file_that_was_mended_since_is_chosen_again(
    page: Page, mills: Site, tmp_path: Path
) -> None:
    file, mended = tmp_path / "broken.json", '{"text": "Edda Rowe mended the bell rope."}'
    page.goto(mills.door("/ui/documents"))
    send(page, file, "{ no")
    again = page.get_by_role("link", name="Send broken.json again")
    again.wait_for(timeout=20_000)
    file.write_text(mended, encoding="utf-8")
    os.utime(file, (1, 1))
    again.click()
    expect(page.locator("#said")).to_contain_text("choose it again")
    send(page, file, mended)
    expect(page.locator(".status")).to_have_text("completed", timeout=20_000)


def test_the_versions_of_a_document_are_compared(page: Page, mills: Site) -> None:
    mills.engine.add(TEXTS["mill"].replace("Harrow Ford", "Port Anselm"), source="mill")
    page.goto(mills.door("/ui/documents/mill"))
    page.get_by_role("link", name="since then").click()
    shown = page.get_by_role("article", name="Difference")
    assert "".join(shown.locator("del").all_text_contents()) == "HarrowFord"
    assert "".join(shown.locator("ins").all_text_contents()) == "PortAnselm"
    page.get_by_label("to", exact=True).select_option("1")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Their texts are the same")).to_be_visible()


def test_the_demo_fills_an_empty_store(page: Page, mills: Site) -> None:
    page.goto(mills.door("/ui/?namespace=bells"))
    page.get_by_role("button", name="Add the demo").click()
    expect(page.locator(".hit").first).to_be_visible(timeout=30_000)
    assert {d.source for d in mills.engine.documents.list()} == set(TEXTS)

"""The graph in a browser: drawn, followed, filtered, saved; and all of it without the picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Site

QUESTION = "Who taught the builder of the Skerrow Rock light?"


@pytest.fixture
def page(page: Page, lights: Site) -> Page:
    """A tab that is logged in."""
    page.goto(lights.door())
    return page


def drawn(page: Page, address: str = "") -> None:
    """Wait until the picture is there, of an address where one is given."""
    if address:
        page.goto(address)
    page.locator(".picture.ready").first.wait_for()


def place_of(page: Page, site: Site, name: str) -> tuple[float, float]:
    """Where an entity is drawn."""
    id_ = site.engine.entities.get(name).id
    x, y = page.evaluate(
        f"""(() => {{ const p = clewPictures[0], box = p.place.getBoundingClientRect();
        const at = p.sigma.graphToViewport(p.graph.getNodeAttributes("{id_}"));
        return [box.x + at.x, box.y + at.y]; }})()"""
    )
    return x, y


def names_in(page: Page) -> set[str]:
    return set(page.locator("#nodes tbody tr:visible th").all_text_contents())


def test_a_question_is_drawn_and_its_thread_lights_up(page: Page, lights: Site) -> None:
    drawn(page, f"{lights.url}/ui/?q={QUESTION}")
    hit = page.locator(".hit", has=page.locator('.thread a:text-is("Ilse Marrable")')).first
    hit.hover()
    lit = page.evaluate(
        "[...clewPictures[0].lit].map((id) => clewPictures[0].graph.getNodeAttribute(id, 'label'))"
    )
    steps = hit.locator(".thread a.entity").all_text_contents()

    assert set(lit) == set(steps)
    assert "Ilse Marrable" in lit


def test_neighbours_come_on_demand_and_back_takes_them_away(page: Page, lights: Site) -> None:
    drawn(page, f"{lights.url}/ui/graph?question={QUESTION}")
    before = names_in(page)
    labels = page.evaluate("clewPictures[0].graph.mapNodes((_, node) => node.label)")
    page.get_by_role("button", name="Neighbours of Ilse Marrable").click()
    page.wait_for_url("**entities=*")
    after = names_in(page)
    page.go_back()

    assert set(labels) == before < after, "the picture and the table show the same"
    assert names_in(page) == before


def path_in(page: Page) -> list[str]:
    return page.get_by_label("Paths").locator(".thread").first.locator("a.entity").all_inner_texts()


def test_communities_are_kept_or_left_out(page: Page, lights: Site) -> None:
    # Any change, so that the communities are of before it.
    lights.engine.add("nothing is said here", source="passing.md")
    lights.engine.documents.delete(["passing.md"])
    page.goto(f"{lights.url}/ui/graph?question={QUESTION}&entities=Ilse Marrable&hops=2")
    page.get_by_role("link", name="find them").click()
    page.get_by_role("region", name="Communities of this level").wait_for()
    page.go_back()
    page.reload()
    expect(page.get_by_role("link", name="find them")).to_have_count(0)
    everything = names_in(page)
    box = page.get_by_role("group", name="Communities").get_by_role("checkbox").last
    kept = int(box.get_attribute("value") or "")
    box.check()
    page.wait_for_url("**communities=*")
    drawn(page)
    nodes = page.evaluate("clewPictures[0].graph.mapNodes((_, node) => node)")

    assert names_in(page) < everything
    assert kept in {node["community"] for node in nodes}
    assert {node["community"] for node in nodes if not node["seed"]} <= {kept}


def test_a_path_is_picked_in_the_picture(page: Page, lights: Site) -> None:
    drawn(page, f"{lights.url}/ui/graph?entities=Ilse Marrable")
    for name, end in (("Ilse Marrable", "Path from"), ("Tobias Fenn", "Path to")):
        page.mouse.click(*place_of(page, lights, name))
        expect(page.locator("#chosen")).to_contain_text(name)
        page.locator("#with-chosen").get_by_role("button", name=end).click()
    page.wait_for_url("**to=*")
    steps = path_in(page)

    assert (steps[0], steps[-1]) == ("Ilse Marrable", "Tobias Fenn")


def test_the_picture_is_used_by_keyboard(page: Page, lights: Site) -> None:
    drawn(page, f"{lights.url}/ui/graph?entities=Ilse Marrable")
    page.locator("#picture").focus()
    ratio = page.evaluate("clewPictures[0].sigma.getCamera().ratio")
    page.keyboard.press("+")
    assert page.evaluate("clewPictures[0].sigma.getCamera().ratio") < ratio
    page.keyboard.press("n")
    page.keyboard.press("n")
    chosen = page.locator("#chosen").text_content() or ""
    assert page.locator("tr.chosen th").text_content() == chosen.rpartition(" (")[0]
    page.keyboard.press("Enter")
    page.wait_for_url("**entities=*")


def test_a_graph_is_saved(page: Page, lights: Site, tmp_path: Path) -> None:
    drawn(page, f"{lights.url}/ui/graph?entities=Ilse Marrable")
    count = page.locator("#nodes tbody tr").count()
    page.evaluate(
        "label => clewPictures[0].graph.updateEachNodeAttributes((_, n) => ({ ...n, label }))",
        "a\0b\v\ufffe<&\x1f",
    )
    saved = {}
    for kind in ("PNG", "SVG", "GRAPHML", "JSON"):
        with page.expect_download() as download:
            page.get_by_text(kind, exact=True).click()
        saved[kind] = tmp_path / f"graph.{kind}"
        download.value.save_as(saved[kind])

    assert saved["PNG"].read_bytes().startswith(b"\x89PNG")
    svg = ElementTree.parse(saved["SVG"]).getroot()
    assert len(svg.findall("{http://www.w3.org/2000/svg}circle")) == count
    assert {label.text for label in svg.iter("{http://www.w3.org/2000/svg}text")} == {"ab<&"}
    graphml = ElementTree.parse(saved["GRAPHML"]).getroot()
    assert len(graphml.findall(".//{http://graphml.graphdrawing.org/xmlns}node")) == count
    assert len(json.loads(saved["JSON"].read_text("utf-8"))["nodes"]) == count


def test_a_layout_takes_any_graph_and_comes_to_an_end(page: Page, lights: Site) -> None:
    drawn(page, f"{lights.url}/ui/graph?entities=Ilse Marrable")
    star = [(0, node) for node in range(1, 5000)]
    graphs: list[tuple[int, list[tuple[int, int]]]] = [
        (0, []),
        (1, []),
        (1, [(0, 0)]),
        (3, []),
        (2, [(0, 1), (1, 0), (1, 1)]),
        (5000, star),
    ]
    for count, edges in graphs:
        nodes = [{"id": id_} for id_ in range(count)]
        ties = [{"source": one, "target": other, "weight": 1} for one, other in edges]
        found = page.evaluate("([nodes, edges]) => placed(nodes, edges)", [nodes, ties])
        places = np.array(found, dtype=float).reshape(-1, 2)
        assert np.isfinite(places).all()
        assert len(places) == len(np.unique(places.round(3), axis=0)) == count


def test_without_scripts_the_tables_remain(context: BrowserContext, lights: Site) -> None:
    plain = context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    page = plain.new_page()
    page.goto(lights.door())
    page.goto(f"{lights.url}/ui/graph?question={QUESTION}")
    page.get_by_role("button", name="Neighbours of Ilse Marrable").click()

    assert "Ilse Marrable" in names_in(page)
    page.get_by_label("Path from Skerrow Rock Light").check()
    page.get_by_label("Path to Tobias Fenn").check()
    page.get_by_role("button", name="Show the path").click()
    assert "Ilse Marrable" in path_in(page)
    page.goto(f"{lights.url}/ui/?q={QUESTION}")
    assert page.locator(".hit").count() > 0
    plain.close()

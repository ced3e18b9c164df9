"""What pages are made of: marked texts, parts of the graph, settings without secrets."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import Clew
from clew.errors import InputError
from clew.jobs.runner import make_runner
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import RelationEvidence
from clew.web.graph_view import Wanted, view
from clew.web.pages.reading import shown_relations, steps
from clew.web.passages import Mark, difference, find_names, flowing, headings, plain, segments
from clew.web.request import PageRequest
from clew.wiring import make_audit
from tests.unit.test_web_login import OWNER, explorer, log_in

VENDORED = Path(__file__).parent.parent.parent / "src" / "clew" / "web" / "static"
MOST_BYTES = 370_000


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70), st.integers(1, 3)), max_size=6),
    st.tuples(st.integers(-5, 70), st.integers(-5, 70)),
)
def test_pieces_make_up_the_text(
    text: str, marks: list[tuple[int, int, int]], answer: tuple[int, int]
) -> None:
    pieces = segments(text, [Mark(*mark) for mark in marks], answer)

    hidden = {place for begin, words, _ in headings(text) for place in range(begin, words)}
    shown = [(n, c) for n, c in enumerate(flowing(text)) if n not in hidden]
    assert "".join(piece.text for piece in pieces) == "".join(c for _, c in shown)
    marked = "".join(piece.text for piece in pieces if piece.answer)
    assert marked == "".join(c for n, c in shown if answer[0] <= n < answer[1])


def test_headings_show_as_such_and_comments_of_code_as_they_are() -> None:
    text = "# The bell\n\nEdda cast it.\n\n## Later\n\n# comment\nx = 1\n#tag\n### End"
    titles = [piece.text for piece in segments(text, [Mark(6, 10, 7)]) if piece.heading]

    assert titles == ["The ", "bell", "Later", "End"]
    assert plain(text) == "The bell\n\nEdda cast it.\n\nLater\n\n# comment\nx = 1\n#tag\nEnd"


def test_lines_that_were_broken_for_their_width_flow() -> None:
    line = "a line that is as long as lines of a wrapped paragraph are"

    assert flowing(f"{line}\n{line}\n\n# Heading\nshort\nshort") == (
        f"{line} {line}\n\n# Heading\nshort\nshort"
    )


def test_names_are_whole_words_and_the_longest_counts() -> None:
    text = "Reed met Jonas Reed; Reeds grow."
    found = find_names(text, {"Reed": 1, "Jonas Reed": 2, "": 3})

    assert [(text[m.start : m.end], m.entity) for m in sorted(found, key=lambda m: m.start)] == [
        ("Reed", 1),
        ("Jonas Reed", 2),
    ]


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    settings = load_settings(store=tmp_path_factory.mktemp("mills"), limits={"isolation": "none"})
    with Clew(settings, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford. Jonas Reed works for Tarn Abbey.")
        engine.add(
            "Tarn Abbey is part of the Lorne Estate. Mara Lind met Jonas Reed in Tarn Abbey."
        )
        engine.add("Edda Rowe cast the bell of Port Anselm.")
        yield engine


def test_a_picture_holds_what_ties_its_entities(mills: Clew) -> None:
    reed = mills.entities.get("Jonas Reed").id
    seen = view(mills, Wanted(entities=(reed,)))
    ids = {node.id for node in seen.nodes}
    names = {node.name for node in seen.nodes}

    assert seen.nodes[0].id == reed
    assert {"Tarn Abbey", "Harrow Ford", "Mara Lind"} <= names
    assert "Edda Rowe" not in names
    assert all({tie.source, tie.target} <= ids for tie in seen.ties)
    stated = {
        (r.from_entity_id, r.relation_type, r.to_entity_id)
        for r in mills.store.relations(sorted(ids), 1000)
        if {r.from_entity_id, r.to_entity_id} <= ids
    }
    assert {(t.source, t.relation, t.target) for t in seen.ties if t.id is not None} == stated


def test_filters_and_limits_of_a_picture(mills: Clew) -> None:
    reed = mills.entities.get("Jonas Reed").id
    everything = view(mills, Wanted(entities=(reed,), hops=2))
    few = view(mills, Wanted(entities=(reed,), hops=2, limit=2))
    sure = view(mills, Wanted(entities=(reed,), min_confidence=1.0))
    places_only = view(mills, Wanted(entities=(reed,), types=("place",)))

    assert len(few.nodes) == 2
    assert few.nodes[0].id == reed
    assert few.notes
    assert all(tie.confidence >= 1.0 for tie in sure.ties)
    assert {n.type for n in places_only.nodes if not n.seed} <= {"place"}
    assert set(places_only.types) == {n.type for n in view(mills, Wanted(entities=(reed,))).nodes}
    assert everything.total >= len(everything.nodes)
    with pytest.raises(InputError, match="begins from"):
        view(mills, Wanted())


def test_a_picture_is_of_the_store_as_it_is_and_waits_for_no_communities(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path, limits={"isolation": "none"})
    with Clew(settings, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford.")
        wanted = Wanted(entities=(engine.entities.get("Jonas Reed").id,))
        engine.state.update_communities()
        made = engine.state.communities_made
        before = view(engine, wanted)
        again = view(engine, wanted)
        engine.add("Jonas Reed met Mara Lind in Tarn Abbey.")
        after = view(engine, wanted)

        assert again == before
        assert "Mara Lind" not in {node.name for node in before.nodes}
        assert "Mara Lind" in {node.name for node in after.nodes}
        assert engine.state.communities_made == made
        assert engine.state.communities.generation() == engine.store.generation()
        found = {node.community for node in view(engine, wanted).nodes} - {None}
        assert found <= {c.id for c in engine.state.communities.communities()}


def test_settings_are_shown_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_NEO4J__PASSWORD", "hunter2-neo4j")
    monkeypatch.setenv("CLEW_QDRANT__API_KEY", "hunter2-qdrant")
    monkeypatch.setenv("CLEW_QDRANT__URL", "http://" + "ann:hunter2-url" + "@localhost:6333")
    monkeypatch.setenv("CLEW_SEARCH__LIMIT", "7")
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        refused = client.get("/ui/settings")
    with explorer(tmp_path, rights=("read", "admin")) as client:
        log_in(client, OWNER[0])
        shown = client.get("/ui/settings").text

    assert refused.status_code == 403
    assert "hunter2" not in shown
    assert OWNER[1] not in shown
    row = shown.partition("search.limit</code>")[2].partition("</tr>")[0]
    assert ">7<" in row
    assert ">environment<" in row


def test_pages_take_filters_and_say_what_is_wrong_with_one(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        for page in ("documents", ""):

            def shown(where: str, status: int = 200, page: str = page) -> str:
                answer = client.get(f"/ui/{page}", params={"where": where, "q": "Who built it?"})
                assert answer.status_code == status, answer.text
                return unescape(answer.text)

            passage = "The mill" if page else "Jonas Reed built"
            assert passage in shown("source = bell or (title = The mill and not draft = true)")
            assert passage not in shown("not title contains MILL").partition("</form>")[2]
            unknown = shown("sourse = x")
            assert "no document has the field 'sourse'; did you mean 'source'?" in unknown
            wrong = shown("source = x and", 400)
            assert "at character 15: expected the name of a field, such as year>=2020</p>" in wrong


def test_assets_are_small_and_have_their_licences() -> None:
    files = [file for file in VENDORED.rglob("*") if file.is_file()]

    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    for script in (VENDORED / "vendor").glob("*.js"):
        licence = script.with_name(script.name.removesuffix(".min.js") + ".LICENSE")
        assert licence.is_file()


@given(*[st.lists(st.sampled_from(["a b c", "a x c", "d", "e f", "a"]), max_size=12)] * 2)
def test_a_difference_holds_both_texts(before: list[str], after: list[str]) -> None:
    lines = list(difference("\n".join(before), "\n".join(after)))

    for kind, text in (("gone", before), ("new", after)):
        rest = "\n".join(text).splitlines()
        for line in lines:
            if line and line[0].kind == "left_out":
                del rest[: int(line[0].text)]
            elif any(piece.kind in ("same", kind) for piece in line):
                told = "".join(piece.text for piece in line if piece.kind in ("same", kind))
                assert rest.pop(0) == told
        assert rest == []


def test_of_a_difference_only_what_is_near_is_shown() -> None:
    lines = [f"line {n}" for n in range(40)]
    changed = [*lines[:20], "line twenty", *lines[21:]]

    found = list(difference("\n".join(lines), "\n".join(changed)))

    assert [[(p.kind, p.text) for p in line] for line in found] == [
        [("left_out", "18")],
        [("same", "line 18")],
        [("same", "line 19")],
        [("same", "line "), ("gone", "20"), ("new", "twenty")],
        [("same", "line 21")],
        [("same", "line 22")],
        [("left_out", "17")],
    ]


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_a_path_leads_from_its_start_to_its_end_whichever_way_ties_are_stated(
    forward: list[bool],
) -> None:
    names = [f"N{number}" for number in range(len(forward) + 1)]
    path = []
    for number, ahead in enumerate(forward):
        head, tail = names[number : number + 2] if ahead else names[number : number + 2][::-1]
        path.append(RelationEvidence(head=head, relation="knows", tail=tail, evidence=""))
    found = steps("N0", path)

    assert [step.name for step in found] == names
    assert [not step.reversed for step in found[:-1]] == forward
    assert found[-1].tie is None


def test_a_relation_that_is_confirmed_is_shown_once(tmp_path: Path) -> None:
    with Clew(load_settings(store=tmp_path), embedder=HashEmbedder()) as engine:
        engine.add("Osprey Works is part of Vantage Group.", source="a.md")
        works = engine.entities.get("Osprey Works")
        page = cast("PageRequest", SimpleNamespace(engine=engine))
        (before,) = shown_relations(page, works)
        ends = {"source_id": before.relation.from_entity_id, "target_id": before.other_id}
        kind = before.relation.relation_type
        engine.tools.call("add_entity_relationship", {**ends, "relation_type": kind})
        (after,) = shown_relations(page, works)

    assert before.relation.extractor != "manual"
    assert after.relation.extractor == "manual"
    assert (after.other, after.relation.relation_type) == (before.other, kind)


def test_an_empty_file_of_a_drop_is_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        page = client.get("/ui/documents").text
        token = page.partition('data-form-token="')[2].partition('"')[0]
        contents = {"a.md": b"Jonas Reed built it.", "empty.md": b"", "b.md": b"Edda cast it."}
        files = [("files", (name, data)) for name, data in contents.items()]
        answer = client.post("/ui/documents", files=files, data={"form_token": token})
        shown = client.get(answer.headers["location"]).text

    assert answer.status_code == 303
    assert answer.headers["location"].count("sent=") == 2
    assert "empty.md is empty" in shown


def test_a_file_that_was_sent_outlives_the_server_and_leaves_an_audit_row(tmp_path: Path) -> None:
    """Byte for byte, read by whoever runs its job."""
    data = "Jörn built the quay.\r\n".encode("utf-16")
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        page = client.get("/ui/documents").text
        token = page.partition('data-form-token="')[2].partition('"')[0]
        files = {"files": ("C:\\notes\\quay.txt", data)}
        answer = client.post("/ui/documents", files=files, data={"form_token": token})
        job = parse_qs(urlsplit(answer.headers["location"]).query)["sent"][0]
    settings = load_settings(store=tmp_path, namespace="mills")
    with Clew(settings, embedder=HashEmbedder()) as engine:
        runner = make_runner(engine)
        runner.start()
        ended = runner.wait(job, 30)
        text = engine.documents.text("upload/quay.txt")
        entries = make_audit(engine.state.journal).entries(limit=10)

    assert (ended.status, ended.failed, ended.arguments) == ("completed", 0, {})
    assert "Jörn built the quay." in text
    assert [(entry.caller, entry.tool) for entry in entries] == [("ann", "ingest_document")]
    assert entries[0].subjects == {"name": "quay.txt", "source": "upload/quay.txt"}

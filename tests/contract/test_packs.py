"""The packs on each back end, first `papers`: what a bibliography states, what it answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF

import clew.plugins.constitution
import clew.plugins.papers
from clew import Clew
from clew.errors import InputError, NotFoundError
from clew.plugins.papers.bibliography import read_bibtex
from clew.settings import Settings, load_settings
from tests.contract.pack_stores import open_with, pack_settings

CORPUS = Path(clew.plugins.papers.__file__).parent / "corpus"
BERT = "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
ATTENTION = "Attention Is All You Need"


ROBERTA = "RoBERTa: A Robustly Optimized BERT Pretraining Approach"
ALBERT = "ALBERT: A Lite BERT for Self-supervised Learning of Language Representations"
DENSE = "Dense Passage Retrieval for Open-Domain Question Answering"
ELMO = "Deep Contextualized Word Representations"
GPT = "Improving Language Understanding by Generative Pre-Training"
QLORA = "QLoRA: Efficient Finetuning of Quantized Language Models"
QUESTIONS = [
    "What papers built on BERT?",
    "How did attention evolve from 2017 to 2022?",
    "Compare BERT and LLaMA",
    "What is LoRA?",
    "What improvements were made after 2020?",
]


@pytest.fixture(scope="module", params=["sqlite", "neo4j"])
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clew]:
    folder = tmp_path_factory.mktemp("papers")
    boost = {"fields": {"citations": 0.2}, "importance": 0.1}
    with (
        pack_settings(request, request.param, folder, boost=boost) as settings,
        open_with(settings, ["papers"]) as store,
    ):
        report = store.index([CORPUS])
        assert (report.added, report.skipped) == (41, ())
        yield store


def related(store: Clew, name: str, relation: str, direction: str) -> set[str]:
    entity = store.entities.get(name)
    call = {"entity_id": entity.id, "relation_type": relation, "direction": direction, "limit": 50}
    found = store.tools.call("get_entity_neighbors", call).content["neighbors"]
    return {one["neighbor_name"] for one in found}


@pytest.mark.parametrize(
    ("name", "relation", "direction", "expected"),
    [
        # from BibTeX by key, from JSON by title
        ("BERT", "cites", "inbound", {ROBERTA, DENSE}),
        ("BERT", "cites", "outbound", {ATTENTION, ELMO, GPT}),
        # what precedes follows from citation and year
        ("BERT", "precedes", "outbound", {ALBERT}),
        ("BERT", "precedes", "inbound", {ATTENTION}),
        ("BERT", "written_by", "outbound", {"Jacob Devlin"}),
        # what builds on and improves is read from the words
        ("LoRA", "builds_on", "inbound", {QLORA}),
        ("LLaMA", "improves", "outbound", {"GPT-3"}),
        ("BERT", "evaluated_on", "outbound", {"GLUE"}),
    ],
)
def test_papers_are_related(
    library: Clew, name: str, relation: str, direction: str, expected: set[str]
) -> None:
    found = related(library, name, relation, direction)
    assert found >= expected
    if relation == "precedes":
        assert ROBERTA not in found  # the same year


def test_a_paper_goes_by_its_short_name_and_its_identifiers(library: Clew) -> None:
    assert {
        (one.name, one.entity_type)
        for one in map(library.entities.get, ("BERT", "10.18653/v1/n19-1423", BERT))
    } == {(BERT, "paper")}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_questions_are_answered_in_the_shape_of_the_contract(
    library: Clew, question: str
) -> None:
    found = library.search(question).to_dict()

    assert set(found) >= {"query", "strategy", "reason", "graph_entities", "temporal_info"}
    assert found["results"]
    for one in found["results"]:
        assert set(one) >= {"id", "text", "metadata", "score", "scores", "source", "graph_context"}
        assert one["metadata"]["entity_type"] == "paper"
        assert min(one["scores"]["citations"], one["scores"]["importance"]) >= 0
        assert max(one["scores"]["citations"], one["scores"]["importance"]) <= 1


@pytest.mark.parametrize(
    "question", ["Compare BERT and LLaMA", "What is the difference between BERT and LLaMA?"]
)
def test_a_comparison_of_two_papers_begins_with_both(library: Clew, question: str) -> None:
    found = library.search(question)

    assert {hit.chunk.title for hit in found.hits[:2]} == {
        BERT,
        "LLaMA: Open and Efficient Foundation Language Models",
    }
    assert found.answered, "what tells one side helps to answer"


def test_a_timeline_tells_more_of_a_paper_than_its_year(library: Clew) -> None:
    call = {"query": "How did attention evolve from 2017 to 2022?", "top_k": 10}
    parts = library.tools.call("query_documents", call).content["context"]["parts"]
    (timeline,) = [part["text"] for part in parts if part["text"].startswith("[1] In order")]

    assert ATTENTION in timeline
    assert not re.findall(r": (?:Year: )?\d{4} \(", timeline)


def test_a_development_is_told_by_its_periods_and_what_precedes_what(library: Clew) -> None:
    found = library.search("How did attention evolve from 2017 to 2022?", limit=30)
    stated = [part.text for part in found.context.parts if part.kind == "timeline"]
    pairs = re.findall(r"- (.+) \((\d{4})\) precedes (.+) \((\d{4})\)", stated[0])
    after = related(library, ATTENTION, "precedes", "outbound")

    assert len(pairs) > 3
    assert [pair for pair in pairs if pair[1] >= pair[3]] == []
    assert pairs == sorted(pairs, key=lambda pair: pair[1])
    assert {pair[2] for pair in pairs if pair[0] == ATTENTION} <= after
    assert found.temporal is not None
    periods = [period for period, _ in found.temporal.timeline]
    assert len(periods) > 2
    assert periods == sorted(periods)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("BERT", BERT),
        ("QLoRA", QLORA),
        # what an abstract introduces, and no title begins with
        ("GPT-3", "Language Models are Few-Shot Learners"),
        ("Chinchilla", "Training Compute-Optimal Large Language Models"),
    ],
)
def test_a_paper_is_found_first_by_its_short_name(library: Clew, name: str, title: str) -> None:
    listed = library.tools.call("papers_list", {"query": name, "limit": 9}).content["papers"]

    assert [listed[0]["title"], library.search(name).hits[0].chunk.title] == [title, title]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which venue published LoRA?", ["Venue: International Conference on Learning Rep"]),
        ("Which paper is the most cited?", [ATTENTION]),
        ("Who wrote the paper that introduced QLoRA?", ["Authors: Tim Dettmers"]),
        ("What does BERT cite?", [ATTENTION, ELMO, GPT]),
        ("Which papers cite QLoRA?", []),
        ("Which papers did Nils Reimers write?", ["Sentence-BERT", "BEIR"]),
        ("Which papers were evaluated on MS MARCO?", ["ColBERT"]),
        # what entries cannot say is searched for as ever
        ("What is late interaction?", ["late interaction"]),
    ],
)
def test_what_entries_state_answers(library: Clew, question: str, expected: list[str]) -> None:
    said = [one.text for one in library.ask(question).statements]

    assert len(said) == len(expected)
    assert all(one in text for one, text in zip(expected, said, strict=True)), said


def test_what_is_found_is_listed_with_its_citations_and_as_bibtex(library: Clew) -> None:
    arguments = {"query": "BERT", "where": ["year<2020"], "limit": 8}
    graph = library.tools.call("papers_list", {**arguments, "format": "graph"}).content
    written = library.tools.call("papers_list", {**arguments, "format": "bibtex"}).content["bibtex"]
    again, failed = read_bibtex(written)
    edges = {(one["from"], one["relation"], one["to"]) for one in graph["citations"]}
    ends = {end for head, _, tail in edges for end in (head, tail)}
    (bert,) = (paper for paper in again if paper.title == BERT)

    assert (ROBERTA, "builds_on", BERT) in edges
    assert failed == []
    assert ends <= {paper.title for paper in again} == {one["title"] for one in graph["papers"]}
    assert bert.authors == ("Jacob Devlin", "Ming-Wei Chang", "Kenton Lee", "Kristina Toutanova")
    assert (bert.year, bert.identifiers[0]) == (2019, "10.18653/v1/n19-1423")


def test_without_a_question_the_most_cited_papers_are_listed(library: Clew) -> None:
    assert [
        one["title"] for one in library.tools.call("papers_list", {"limit": 2}).content["papers"]
    ] == [ATTENTION, BERT]


@pytest.fixture(params=["sqlite", "neo4j"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Clew]:
    with (
        pack_settings(request, request.param, tmp_path) as settings,
        open_with(settings, ["papers"]) as store,
    ):
        yield store


def test_a_paper_as_pdf_tells_what_it_cites(empty: Clew, tmp_path: Path) -> None:
    write_pdf(tmp_path / "paper.pdf")
    empty.index([tmp_path / "paper.pdf"])
    (paper,) = empty.documents.list()

    assert paper.title == "Walking Graphs to Find Passages"
    assert (paper.metadata["year"], paper.metadata["doi"]) == (2023, "10.1000/graphs.2023")
    assert related(empty, paper.title, "written_by", "outbound") == {"Ada Morn", "Bo Lund"}
    assert related(empty, paper.title, "cites", "outbound") == {
        "Attention is all you need",
        "Dense passage retrieval for open-domain question answering",
    }


def write_pdf(path: Path) -> None:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    pdf.add_page()
    for size, text in [
        (18, "Walking Graphs to Find Passages"),
        (11, "Ada Morn, Bo Lund"),
        (9, "Vell University, 2023. doi:10.1000/graphs.2023"),
        (12, "Abstract"),
        (11, "We walk a graph of entities. " * 8 + "The walk builds on personalised PageRank."),
        (12, "1 Introduction"),
        (11, "Passages that answer a question often share no word with it. " * 12),
        (12, "References"),
        (11, "[1] A. Vaswani, N. Shazeer, et al. Attention is all you need. In NIPS, 2017."),
        (
            11,
            "[2] V. Karpukhin and B. Oguz. Dense passage retrieval for open-domain question"
            " answering. In EMNLP, 2020.",
        ),
    ]:
        pdf.set_font_size(size)
        pdf.multi_cell(0, size * 0.6, text, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(3)
    pdf.output(str(path))


# --- The pack `constitution`: chains, conflicts, checks and coverage.


ARTICLES = Path(clew.plugins.constitution.__file__).parent / "corpus"
GOAL = "Delete raw interviews after a year"


@pytest.fixture(scope="module", params=["sqlite", "neo4j"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clew]:
    folder = tmp_path_factory.mktemp("constitution")
    with (
        pack_settings(request, request.param, folder) as settings,
        open_with(settings, ["constitution"]) as opened,
    ):
        report = opened.index([ARTICLES])
        assert (report.added, report.skipped) == (41, ())
        yield opened


def call(store: Clew, tool: str, **arguments: object) -> dict[str, Any]:
    found = store.tools.call(tool, arguments)
    assert found.content["success"], found.content
    return dict(found.content)


def first(store: Clew, query: str, **arguments: object) -> dict[str, Any]:
    return dict(call(store, "constitution_search", query=query, **arguments)["results"][0])


def test_a_goal_is_found_with_its_whole_chain_and_the_confidence_along_it(store: Clew) -> None:
    found = first(store, "delete raw interviews", layer="goal")
    chain = [(one["name"], one["confidence"]) for one in found["chain"]["principles"]]
    (value,) = found["chain"]["values"]

    assert (found["name"], chain) == (GOAL, [("Collect no more than is needed", 0.85)])
    assert (value["confidence"], value["path"]) == (
        pytest.approx(0.9 * 0.85),
        f"Privacy ▸ Collect no more than is needed ▸ {GOAL}",
    )
    assert found["provenance"]["source"].endswith(f"#goal:{GOAL.lower()}")
    assert [(one["name"], one["kind"], one["strength"]) for one in found["related"]] == [
        ("Archive everything for replication", "conflicts", 0.9),
        ("Ask only for an age group", "sibling", pytest.approx(0.85 * 0.7)),
    ]


def test_a_value_is_found_with_all_below_it(store: Clew) -> None:
    chain = first(store, "Honesty rely on what we say", layer="value")["chain"]

    assert ({one["name"] for one in chain["principles"]}, len(chain["goals"])) == (
        {"Say what is known and what is not", "Correct mistakes in the open"},
        4,
    )


def test_the_parts_of_the_context_keep_to_their_budgets(store: Clew) -> None:
    wide = call(store, "constitution_search", query="data", limit=10)
    tight = call(store, "constitution_search", query="data", limit=10, hierarchy_tokens=40)
    parts = {one["kind"]: one for one in tight["context"]["parts"]}

    assert {one["kind"] for one in wide["context"]["parts"]} == {"elements", "hierarchy", "related"}
    assert parts["hierarchy"]["tokens"] <= 40 * len(tight["notes"])


@pytest.mark.parametrize(
    ("query", "arguments", "field", "wanted"),
    [
        ("Which value forbids to keep interviews?", {}, "entity_type", {"value"}),
        ("Why do we delete interviews?", {}, "entity_type", {"value", "principle"}),
        ("Which goals are proposed?", {}, "status", {"proposed"}),
        ("delete interviews", {"status": "deprecated"}, "status", {"deprecated"}),
    ],
)
def test_the_words_of_a_question_or_a_filter_choose_layer_and_status(
    store: Clew, query: str, arguments: dict[str, str], field: str, wanted: set[str]
) -> None:
    results = call(store, "constitution_search", query=query, limit=50, **arguments)["results"]

    assert {(one | one["fields"])[field] for one in results} == wanted


def test_an_older_version_is_asked_by_its_day(store: Clew) -> None:
    then = first(store, "Privacy personal data", layer="value", as_of="2020-05-01")
    now = first(store, "Privacy what people entrust stays theirs", layer="value")

    assert [(one["name"], one["fields"]["priority"]) for one in (then, now)] == [
        ("Privacy (version 1)", 6),
        ("Privacy", 9),
    ]


def test_a_check_says_what_a_text_touches_and_what_it_denies(store: Clew) -> None:
    text = "We never delete raw interviews after a year. We use free licences."
    found = call(store, "constitution_check", text=text)
    touched = {one["name"]: (one["sentence"], one["opposed"]) for one in found["touches"]}
    followed = call(store, "constitution_check", text="We delete raw interviews after a year.")
    tensions = {one["name"]: one["why"] for one in followed["tensions"]}

    assert touched[GOAL] == ("We never delete raw interviews after a year.", True)
    assert touched["Use free licences"] == ("We use free licences.", False)
    assert ([one["name"] for one in found["conflicts"]], followed["conflicts"]) == ([GOAL], [])
    # What conflicts with what a text follows is named.
    assert GOAL in tensions["Archive everything for replication"]


def test_a_check_compares_with_the_sentence_that_the_text_is_about(tmp_path: Path) -> None:
    """A reason that holds a "not" makes no prohibition of a duty."""
    (tmp_path / "duty.yaml").write_text(
        "values:\n  - name: Honesty\n    principles:\n      - name: Tell customers about defects\n"
        "        rationale: Those who learn of them from others do not come back.\n"
    )
    with open_with(clew.load_settings(store=tmp_path / "duty"), ["constitution"]) as store:
        store.index([tmp_path / "duty.yaml"])
        said = ("We do not tell customers about defects.", "We tell customers about defects.")
        found = [call(store, "constitution_check", text=text)["conflicts"] for text in said]

    assert [[one["name"] for one in of] for of in found] == [["Tell customers about defects"], []]


PROSE = """\
We founded the mill on care for the river. Care for the river means that no oil enters the water.

That no oil enters the water is why bearings are greased with tallow. Tallow is bought in Vell.
"""
READ = {
    "care for the river": "value",
    "no oil enters the water": "principle",
    "bearings are greased with tallow": "goal",
}


def test_what_a_model_read_in_prose_is_searched_checked_and_covered(settings: Settings) -> None:
    value, principle, goal = READ
    facts = [(value, "defines", principle), (principle, "guides", goal)]
    with open_with(settings, ["constitution"]) as store:
        store.add(PROSE, source="mill")
        call(
            store,
            "graph_upsert",
            passage_ids=[chunk.public_id for chunk in store.documents.chunks("mill")],
            entities=[{"name": name, "entity_type": kind} for name, kind in READ.items()],
            relations=[{"source": a, "relation_type": kind, "target": b} for a, kind, b in facts],
        )
        found = first(store, "bearings and tallow", layer="goal")
        (wrong,) = call(store, "constitution_check", text="Oil enters the water.")["conflicts"]
        before = never_met(store)
        call(store, "constitution_record", text=f"The {goal}.", title="Talk")
        left = before - never_met(store)

    assert found["chain"]["values"][0]["path"] == f"{value} ▸ {principle} ▸ {goal}"
    assert (found["name"], found["provenance"]["source"]) == (goal, "mill")
    assert (wrong["name"], before, goal in left) == (principle, set(READ), True)


def never_met(store: Clew) -> set[str]:
    layers = call(store, "constitution_coverage")["layers"]
    return {name for layer in layers for name in layer["never"]}


def test_a_recorded_conversation_counts_for_coverage(store: Clew) -> None:
    before = never_met(store)
    call(store, "constitution_record", text="From now on we label all bottles.", title="Lab talk")

    assert store.documents.get("conversation:Lab talk").title == "Lab talk"
    assert {"Label all bottles", GOAL} - (before - never_met(store)) == {GOAL}


# --- The worked example of docs/packs.md.


PAGE = Path(__file__).parents[2] / "docs" / "packs.md"
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page: `packs/garden`, a pack, and `beds.plants`, which it reads."""
    folder = tmp_path_factory.mktemp("example")
    for name, text in BLOCK.findall(PAGE.read_text("utf-8")):
        path = folder / name if name.endswith(".plants") else folder / "packs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.fixture(params=["sqlite", "neo4j"])
def settings(request: pytest.FixtureRequest, example: Path, tmp_path: Path) -> Iterator[Settings]:
    folders = {"folders": (example / "packs",)}
    with pack_settings(request, request.param, tmp_path, packs=folders) as found:
        yield found


def neighbors(store: Clew, name: str, relation: str, direction: str = "both") -> list[str]:
    entity_id = store.entities.get(name).id
    call = {"entity_id": entity_id, "relation_type": relation, "direction": direction}
    found = store.tools.call("get_entity_neighbors", call).content["neighbors"]
    return sorted(f"{one['entity_type']} {one['neighbor_name']}" for one in found)


def test_the_example_is_read_related_and_asked(settings: Settings, example: Path) -> None:
    with open_with(settings, ["garden"]) as store:
        report = store.index([example / "beds.plants"])
        found = store.tools.call("plants_query", {"sown_since": "2024-10-01"}).content["plants"]
        asked = [("North bed", "grows_in", "both"), ("North bed", "holds", "outbound"),
                 ("North bed", "holds", "inbound"), ("Winter rye", "follows", "both")]  # fmt: skip
        beds, held, nothing, after = (neighbors(store, *one) for one in asked)
        hits = store.search("What was sown after the peas in the North bed?").hits

    assert (report.added, report.skipped) == (2, ())
    assert [plant["name"] for plant in found] == ["Winter rye"]
    assert beds == held == ["plant Sugar Ann peas", "plant Winter rye"]
    assert (nothing, after) == ([], ["plant Sugar Ann peas"])
    assert "Winter rye" in {hit.chunk.title for hit in hits}


def test_enabling_lasts_and_is_seen_by_whoever_has_the_store_open(
    settings: Settings, example: Path
) -> None:
    with open_with(settings) as first, open_with(settings) as second:
        assert first.tools.call("plants_query").is_error
        assert first.index([example / "beds.plants"]).added == 1  # the file as one text
        second.packs.enable("garden")
        again = first.index([example / "beds.plants"])
        assert (again.added, again.pruned) == (2, 1)
        assert len(first.tools.call("plants_query").content["plants"]) == 2
        second.packs.disable("garden")
        assert first.tools.call("plants_query").is_error


def test_a_store_opens_where_its_pack_is_not_but_reads_nothing_without_it(
    settings: Settings, example: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_with(settings, ["garden"]) as store:
        store.index([example / "beds.plants"])
    elsewhere = settings.model_copy(update={"packs": load_settings().packs})
    with open_with(elsewhere) as store:
        assert store.search("Who grows in the North bed?").hits
        with pytest.raises(NotFoundError, match="CLEW_PACKS__FOLDERS"):
            store.index([example / "beds.plants"])
        store.packs.disable("garden")
        assert store.packs.enabled() == []

    assert "there is no pack 'garden'" in caplog.text


def test_documents_are_read_by_the_pack_in_a_worker(example: Path, tmp_path: Path) -> None:
    settings = load_settings(
        store=tmp_path, packs={"folders": (example / "packs",)}, limits={"isolation": "process"}
    )
    with open_with(settings, ["garden"]) as store:
        report = store.index([example / "beds.plants"])

    assert report.added == 2


@pytest.mark.parametrize("name", ["nothing", "../garden", "", "os"])
def test_an_unknown_pack_is_refused_with_those_that_there_are(name: str, tmp_path: Path) -> None:
    with (
        open_with(load_settings(store=tmp_path)) as store,
        pytest.raises(NotFoundError, match="personal"),
    ):
        store.packs.enable(name)


def test_a_pack_that_fails_to_load_says_why(tmp_path: Path) -> None:
    (tmp_path / "packs" / "broken").mkdir(parents=True)
    (tmp_path / "packs" / "broken" / "__init__.py").write_text("import nothing_of_that_name")
    settings = load_settings(store=tmp_path, packs={"folders": (tmp_path / "packs",)})
    with open_with(settings) as store, pytest.raises(InputError, match="nothing_of_that_name"):
        store.packs.enable("broken")

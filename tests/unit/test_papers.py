"""Bibliographies in every format."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.indexing.reading.common import RawFile, ReadResult
from clew.plugins.papers.bibliography import Reference, papers_in, read_bibtex, read_ris
from clew.plugins.papers.reading import (
    cited_work,
    described,
    paper_of,
    read_bib,
    read_json,
    read_lines,
)
from clew.settings import ReadSettings
from clew.types import Document

# --- BibTeX as people write it: what was meant comes out, and what cannot be read is named.


NAMES = [
    # as written, as meant
    ("Knuth, Donald E.", "Donald E. Knuth"),
    ("Donald E. Knuth", "Donald E. Knuth"),
    (r"M{\"u}ller, J{\"o}rg", "Jörg Müller"),
    (r"{\"U}nal, {\.I}smet", "İsmet Ünal"),
    (r"Erd{\H o}s, P{\'a}l", "Pál Erdős"),
    (r"Erd\H{o}s, Paul", "Paul Erdős"),
    (r"\O{}rsted, Hans Christian", "Hans Christian Ørsted"),
    (r"{\AA}ngstr{\"o}m, Anders", "Anders Ångström"),
    (r"\AA sa Larsson", "Åsa Larsson"),
    ("van der Maaten, Laurens", "Laurens van der Maaten"),
    ("Ludwig van Beethoven", "Ludwig van Beethoven"),
    (r"de la Vall{\'e}e Poussin, Charles Louis", "Charles Louis de la Vallée Poussin"),
    ("King, Jr., Martin Luther", "Martin Luther King Jr."),
    ("{Barnes and Noble}", "Barnes and Noble"),
    ("{{OpenAI}}", "OpenAI"),
    ("{The ATLAS Collaboration}", "The ATLAS Collaboration"),
    (r"Fran{\c{c}}ois Viol\`ete", "François Violète"),
    (r"Dvo{\v r}{\'a}k, Anton{\'\i}n", "Antonín Dvořák"),
    (r"Wo{\'z}niak, Micha{\l}", "Michał Woźniak"),
    ("O'Brien, Conor", "Conor O'Brien"),
    ("Jean-Pierre Serre", "Jean-Pierre Serre"),
    ("Ng, Andrew Y.", "Andrew Y. Ng"),
    ("Müller, Jürgen", "Jürgen Müller"),
    ("李, 明", "明 李"),
    (r"Stra{\ss}e, Karl~Heinz", "Karl Heinz Straße"),
    (r"Nu{\~n}ez, Mar{\'\i}a Jos{\'e}", "María José Nuñez"),
    ("Plato", "Plato"),
]
TITLES = [
    (
        "{BERT}: Pre-training of {D}eep Bidirectional Transformers",
        "BERT: Pre-training of Deep Bidirectional Transformers",
    ),
    ("Attention Is All You Need", "Attention Is All You Need"),
    (r"Search \& Retrieval at 100\% Recall", "Search & Retrieval at 100% Recall"),
    (
        r"{\"U}ber die Grundlagen der {Q}uantenmechanik",
        "Über die Grundlagen der Quantenmechanik",
    ),
    (r"Na{\"\i}ve {B}ayes Revisited", "Naïve Bayes Revisited"),
    (r"Learning $\alpha$-Stable Models", "Learning α-Stable Models"),
    ("Pages 1--10 of Nothing", "Pages 1–10 of Nothing"),
    ("On ``Understanding'' Language", "On “Understanding” Language"),
    (r"The \emph{Drosophila} Connectome", "The Drosophila Connectome"),
    (r"{\textit{In silico}} Trials", "In silico Trials"),
    ("A = B, Proved by Machine", "A = B, Proved by Machine"),
    ("Don't Stop Pretraining", "Don't Stop Pretraining"),
    ("Mail to user@example.org Considered", "Mail to user@example.org Considered"),
    ("The {\\TeX}book", "The TeXbook"),
    ("C# and F# Compared", "C# and F# Compared"),
    ("{{Double Braced Title}}", "Double Braced Title"),
    ("Lignes \\'ecrites par un \\'el\\`eve", "Lignes écrites par un élève"),
    ("A Title\n   over Two Lines", "A Title over Two Lines"),
    ("深度学习", "深度学习"),
    ("Graphs, {Trees}, and {\\`a} la carte", "Graphs, Trees, and à la carte"),
    (r"Caf\'e~Society", "Café Society"),
    ("AT&amp;T Archives", "AT&T Archives"),
    ("Rates of 5 % and More", "Rates of 5 % and More"),
]

REAL = r"""
% as DBLP, the ACL Anthology, arXiv, JSTOR, ACM, IEEE, Zotero, Mendeley and JabRef write them
@inproceedings{DBLP:conf/naacl/DevlinCLT19,
  author       = {Jacob Devlin and
                  Ming{-}Wei Chang and
                  Kenton Lee and
                  Kristina Toutanova},
  title        = {{BERT:} Pre-training of Deep Bidirectional Transformers for Language
                  Understanding},
  booktitle    = {Proceedings of the 2019 Conference},
  pages        = {4171--4186},
  year         = {2019},
  doi          = {10.18653/V1/N19-1423},
  timestamp    = {Tue, 28 Jan 2020 10:30:29 +0100},
  bibsource    = {dblp computer science bibliography, https://dblp.org}
}
@misc{hu2021lora,
      title={LoRA: Low-Rank Adaptation of Large Language Models},
      author={Edward J. Hu and Yelong Shen and others},
      year={2021},
      eprint={2106.09685},
      archivePrefix={arXiv},
      primaryClass={cs.CL}
}
@article{10.2307/2332286,
 ISSN = {00063444},
 URL = {http://www.jstor.org/stable/2332286},
 author = {Student},
 journal = {Biometrika},
 number = {1},
 title = {The Probable Error of a Mean},
 year = {1908}
}
@ARTICLE{6795963,
  author={Hochreiter, Sepp and Schmidhuber, Jürgen},
  journal={Neural Computation},
  title={Long Short-Term Memory},
  year={1997},
  volume={9},
  keywords={},
  doi={10.1162/neco.1997.9.8.1735}}
@online{zotero_item,
	title = {A note on {\textless}em{\textgreater}tags{\textless}/em{\textgreater}},
	date = {2021-05-03},
	author = {Garc{\'i}a, Ana and {World Health Organization}},
	langid = {english},
	file = {Full Text:storage/ABC/x.pdf:application/pdf},
}
@book{knuth:ct:a,
  author = "Donald E. Knuth",
  title = "The {\TeX} Book",
  publisher = "Addison-Wesley",
  year = 1986,
  month = "1~" # jan,
}
@Comment{jabref-meta: databaseType:bibtex;}
"""
REAL_MEANT = {
    "DBLP:conf/naacl/DevlinCLT19": (
        ("Jacob Devlin", "Ming-Wei Chang", "Kenton Lee", "Kristina Toutanova"),
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        2019,
    ),
    "hu2021lora": (
        ("Edward J. Hu", "Yelong Shen"),
        "LoRA: Low-Rank Adaptation of Large Language Models",
        2021,
    ),
    "10.2307/2332286": (("Student",), "The Probable Error of a Mean", 1908),
    "6795963": (("Sepp Hochreiter", "Jürgen Schmidhuber"), "Long Short-Term Memory", 1997),
    "zotero_item": (("Ana García", "World Health Organization"), "A note on <em>tags</em>", 2021),
    "knuth:ct:a": (("Donald E. Knuth",), "The TeX Book", 1986),
}
YEARS = [
    "year = {%d}",
    "year = %d",
    'Year = "%d"',
    "date = {%d-06-03}",
    "date = {%d/2023}",
    "YEAR={{%d}}",
    "year = {in press, %d}",
    "year = {\\noopsort{a}%d}",
    "year = {c%d}",
]


def field(chance: random.Random, name: str, value: str) -> str:
    return (
        f'{name} = "{value}"'
        if '"' not in value and chance.random() < 0.3
        else f"{name} = {{{value}}}"
    )


def generated(count: int) -> tuple[str, dict[str, tuple[tuple[str, ...], str, int]]]:
    """Entries in many styles, and by key what each means."""
    chance = random.Random(7)
    entries = [
        '@string{jml = "Journal of Machine Learning"}',
        "@preamble{ {\\newcommand{\\x}{y}} }",
    ]
    meant = {}
    for number in range(count):
        people = chance.sample(NAMES, chance.randint(1, 5))
        written, title = chance.choice(TITLES)
        year = chance.randint(1900, 2025)
        joint = chance.choice([" and ", "\n    and ", " AND "])
        authors = joint.join(n for n, _ in people) + chance.choice([*[""] * 9, " and others"])
        fields = [
            field(chance, chance.choice(["author", "Author"]), authors),
            field(chance, chance.choice(["title", "TITLE"]), f"{written} {number}"),
            chance.choice(YEARS) % year,
            chance.choice(
                ["journal = jml", 'journal = jml # " Letters"', "booktitle = {Proc. of X}"]
            ),
            chance.choice(["month = jun", "month = {June}", "month = 6", "pages = {1--2}"]),
            "abstract = {We show, by $x = {y}$, that 10\\% of {it} ``holds''.}",
        ]
        held = ",\n  ".join(chance.sample(fields, len(fields))) + chance.choice(["", ","])
        kind = chance.choice(["article", "InProceedings", "MISC", "book"])
        key = f"{chance.choice(['a', 'x:y', 'doe-2019_', 'ü'])}{number}"
        braces = chance.choice(["@{}{{{},\n  {}\n}}", "@{}{{{},\n  {}\n}}", "@{}({},\n  {}\n)"])
        entries.append(braces.format(kind, key, held))
        entries.append(chance.choice([*[""] * 19, "A line between them, with an {open brace"]))
        meant[key] = (tuple(n for _, n in people), f"{title} {number}", year)
    return "\n\n".join(entries), meant


def test_of_1000_entries_nearly_all_are_exact_and_no_failure_goes_unnamed() -> None:
    text, meant = generated(1000 - len(REAL_MEANT))
    papers, failed = read_bibtex(REAL + text)
    meant |= REAL_MEANT
    found = {paper.key: (paper.authors, paper.title, paper.year) for paper in papers}
    wrong = {key: found.get(key) for key, known in meant.items() if found.get(key) != known}

    assert len(meant) == 1000
    assert len(wrong) <= 10, list(wrong.items())[:5]
    assert {one.key for one in failed} == meant.keys() - found.keys()
    assert not set(REAL_MEANT) & set(wrong)


@pytest.mark.parametrize(
    ("broken", "line", "reason"),
    [
        ("@article{bad, title = {never closed,\n year = 2000", 3, "closing"),
        ("@article{bad title = {no comma}}", 3, "comma"),
        ("@article{bad, title {no equals sign}}", 3, "="),
        ("@article{bad, year = 2000}", 3, "no title"),
        ("@article{good1, title = {Again}}", 3, "the entry of line 1 has the same key"),
    ],
)
def test_a_bad_entry_is_named_by_its_line_and_the_others_are_read(
    broken: str, line: int, reason: str
) -> None:
    text = f"@misc{{good1, title={{First}}}}\n\n{broken}\n\n@misc{{good2, title={{Second}}}}\n"
    papers, failed = read_bibtex(text)

    assert [paper.title for paper in papers] == ["First", "Second"]
    assert [(one.line, reason in one.reason) for one in failed] == [(line, True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # an entry takes from its crossref what it lacks
        (
            "@inproceedings{a, title={A}, crossref={p}}\n"
            "@proceedings{p, title={Proc. P}, year=1999}",
            [("A", "Proc. P", 1999), ("Proc. P", "", 1999)],
        ),
        # one without it takes nothing from one without a key
        (
            "@misc{a, title={Undated}}\n@book{, title={Keyless}, year=1990}",
            [("Undated", "", None), ("Keyless", "", 1990)],
        ),
        # entries without a key are papers of their own
        (
            "@article{, title={One}}\n@article{,\n title={Two}}\n@misc{k,title={Three}}",
            [("One", "", None), ("Two", "", None), ("Three", "", None)],
        ),
    ],
)
def test_keys_and_crossrefs(text: str, expected: list[tuple[str, str, int | None]]) -> None:
    papers, failed = read_bibtex(text)
    assert [(one.title, one.venue, one.year) for one in papers] == expected
    assert failed == []


def read(text: str | bytes) -> ReadResult:
    data = text.encode() if isinstance(text, str) else text
    found = read_bib(RawFile(source="/library/all.bib", data=data, settings=ReadSettings()))
    assert found is not None
    return found


def test_a_record_reads_back_from_its_own_text() -> None:
    text = r"""@article{a, title={A Paper}, author={Morn, Ada and Lund, Bo}, year=2019, journal={J},
      keywords={one; two}, abstract={We show it.}, methods={BERT}, datasets={GLUE; SQuAD},
      doi={10.1000/abc}, cites={b; 10.1000/XYZ; Some Other Title}}
    @misc{b, title={Earlier [with brackets] (2001)}, year=2011}"""
    documents = read(text).documents

    paper, places = paper_of(documents[0])

    told = {
        "authors": ("Ada Morn", "Bo Lund"),
        **{"year": 2019, "venue": "J", "abstract": "We show it."},
        **{"methods": ("BERT",), "datasets": ("GLUE", "SQuAD")},
    }
    assert {name: getattr(paper, name) for name in told} == told
    assert [(one.name, one.year) for one in paper.references] == [
        ("Earlier [with brackets] (2001)", 2011),
        ("10.1000/xyz", None),
        ("Some Other Title", None),
    ]
    for name, (start, end) in places.items():
        assert documents[0].text[start:end].startswith("- " if name.startswith("ref") else name)
    assert [piece.key for piece in documents[0].pieces] == ["record", "references"]


@pytest.mark.parametrize(
    "latex", ["{" * 9000 + "}" * 9000, "\\a{" * 4000, "\\frac", "\\'", "\\begin{", "$" * 9001, "\\"]
)
def test_latex_that_is_none_stays_as_it_is_and_loses_no_other_entry(latex: str) -> None:
    balanced = "{" * max(0, latex.count("}") - latex.count("{")) + latex
    balanced += "}" * max(0, balanced.count("{") - balanced.count("}"))
    entry = f"@misc{{a, title={{T {balanced} }}, author={{{balanced} B and C}}}}"

    papers, failed = read_bibtex(f"{entry}\n@misc{{b, title={{B}}}}")

    assert [paper.key for paper in papers] + [one.key for one in failed] in (["a", "b"], ["b", "a"])


def test_other_encodings_are_read() -> None:
    text = "@misc{a, title={Größe}, author={Müller, Jörg}, year=1999}"

    assert read(text.encode("cp1252")).documents[0].title == "Größe"
    assert read(text.encode("utf-16")).documents[0].title == "Größe"


# --- Records of catalogues and programs as papers, lists of references in the usual styles.


SCHOLAR = {
    "paperId": "abc",
    "externalIds": {"ArXiv": "1810.04805", "DOI": "10.18653/v1/N19-1423"},
    "title": "A Title",
    "venue": "NAACL",
    "year": 2019,
    "citationCount": 5,
    "authors": [{"name": "Ada Morn"}],
    "references": [
        {"paperId": "x", "title": "Earlier", "year": 2017},
        {"paperId": "y", "title": None},
    ],
}
OPENALEX = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.1000/ABC",
    "display_name": "A Title",
    "publication_date": "2019-01-02",
    "authorships": [{"author": {"display_name": "Ada Morn"}}],
    "primary_location": {"source": {"display_name": "NAACL"}},
    "cited_by_count": 5,
    "abstract_inverted_index": {"we": [0, 2], "show": [1]},
    "referenced_works": ["https://openalex.org/W2"],
}
ARXIV = {
    "id": "0704.0001",
    "title": "A\n  Title",
    "journal-ref": "NAACL",
    "categories": "hep-ph cs.CL",
    "abstract": " We show. ",
    "versions": [{"version": "v1", "created": "Mon, 2 Apr 2019 19:18:42 GMT"}],
    "authors_parsed": [["Morn", "Ada", ""]],
}
FEED = {
    "id": "http://arxiv.org/abs/1706.03762v5",
    "title": "A Title",
    "summary": "We show.",
    "published": "2019-06-12T17:57:34Z",
    "arxiv_journal_ref": "NAACL",
    "authors": [{"name": "Ada Morn"}],
}
ZOTERO = {
    "itemType": "journalArticle",
    "title": "A Title",
    "creators": [
        {"firstName": "Ada", "lastName": "Morn", "creatorType": "author"},
        {"firstName": "Ed", "lastName": "Itor", "creatorType": "editor"},
    ],
    "date": "2019-05-01",
    "publicationTitle": "NAACL",
    "citationKey": "morn2019",
}
MENDELEY = {
    "title": "A Title",
    "type": "journal",
    "authors": [{"first_name": "Ada", "last_name": "Morn"}],
    "year": 2019,
    "source": "NAACL",
    "identifiers": {"doi": "10.1000/m", "arxiv": "1706.03762"},
}
CSL = {
    "id": "c1",
    "type": "article-journal",
    "title": "A Title",
    "author": [{"family": "Morn", "given": "Ada"}],
    "issued": {"date-parts": [[2019, 11]]},
    "container-title": "NAACL",
    "keyword": "deep learning, graphs",
}
FORMATS: list[dict[str, Any]] = [SCHOLAR, OPENALEX, ARXIV, FEED, ZOTERO, MENDELEY, CSL]


BESIDE: list[dict[str, object]] = [
    {
        "identifiers": ("10.18653/v1/n19-1423", "arXiv:1810.04805", "abc"),
        "references": (Reference(title="Earlier", year=2017), Reference(identifier="y")),
        "citations": 5,
    },
    {
        "references": (Reference(identifier="W2"),),
        "citations": 5,
        "abstract": "we show we",
    },
    {"abstract": "We show.", "topics": ("hep-ph", "cs.CL")},
    {"identifiers": ("arXiv:1706.03762",)},
    {"key": "morn2019"},
    {"identifiers": ("10.1000/m", "arXiv:1706.03762")},
    {"date": "2019-11", "topics": ("deep learning", "graphs")},
]
"""What each of them tells, too."""


@pytest.mark.parametrize(("record", "beside"), [*zip(FORMATS, BESIDE, strict=True)])
def test_each_format_gives_the_same_paper(
    record: dict[str, Any], beside: dict[str, object]
) -> None:
    (paper,) = papers_in([record]) or [None]

    told = {
        **{"title": "A Title", "authors": ("Ada Morn",), "year": 2019, "venue": "NAACL"},
        **beside,
    }
    assert {name: getattr(paper, name) for name in told} == told


def raw(text: str) -> RawFile:
    return RawFile(source="/library/a.json", data=text.encode(), settings=ReadSettings())


def test_wrapped_answers_and_lines_are_read_and_bad_records_named() -> None:
    wrapped = read_json(raw(json.dumps({"total": 1, "data": [{"citedPaper": SCHOLAR}, {"x": 1}]})))
    lines = read_lines(raw(f"{json.dumps(ARXIV)}\n\n{{broken\n{json.dumps(FEED)}\n"))

    assert isinstance(wrapped, ReadResult)
    assert isinstance(lines, ReadResult)
    for found, count, bad in ((wrapped, 1, "record 2"), (lines, 2, "line 3")):
        assert [one.title for one in found.documents] == ["A Title"] * count
        assert [one.reason.split(":")[0] for one in found.skipped] == [bad]


@pytest.mark.parametrize(
    "text", ["{}", "[]", "[1, 2]", '{"title": "T"}', "{broken", '{"items": [3]}']
)
def test_json_of_anything_else_is_left_to_other_readers(text: str) -> None:
    assert read_json(raw(text)) is None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.dictionaries(st.sampled_from(sorted(set().union(*FORMATS))), _VALUES),
)
def test_values_of_any_kind_are_no_error(record: dict[str, Any], odd: dict[str, object]) -> None:
    papers_in([{**record, **odd}])


@pytest.mark.parametrize("count", [-5, True, 10**400])
def test_what_can_be_no_count_of_citations_is_left_out(count: int) -> None:
    (paper,) = papers_in([{**SCHOLAR, "citationCount": count}]) or [None]

    assert paper is not None
    assert paper.citations is None


def test_ris_is_read_and_a_record_without_end_named() -> None:
    text = (
        "TY  - JOUR\nAU  - Morn, Ada\nTI  - A Title\nPY  - 2019\n"
        "JO  - NAACL\nDO  - 10.1000/x\nER  - \n"
        "TY  - JOUR\nTI  - Never ended\n"
        "TY  - JOUR\nTI  - Another\nER  - \n"
    )
    papers, failed = read_ris(text)

    assert [(p.title, p.authors, p.year) for p in papers] == [
        ("A Title", ("Ada Morn",), 2019),
        ("Another", (), None),
    ]
    assert [(one.line, one.reason) for one in failed] == [(8, "the record has no end (ER)")]


@pytest.mark.parametrize("single", [False, True])
def test_the_feed_of_arxiv_turned_into_json_is_read(single: bool) -> None:
    entry = {
        "id": "http://arxiv.org/abs/2305.14314v1",
        "published": "2023-05-23T17:50:33Z",
        "title": "QLoRA: Efficient Finetuning\n  of Quantized LLMs",
        "summary": "QLoRA builds on LoRA.",
        "author": {"name": "Tim Dettmers"} if single else [{"name": "Tim Dettmers"}],
        "arxiv:comment": {"@xmlns:arxiv": "http://arxiv.org/schemas/atom", "#text": "Preprint"},
        "category": {"@term": "cs.LG"} if single else [{"@term": "cs.LG"}],
    }

    found = papers_in({"feed": {"title": "ArXiv Query", "entry": entry if single else [entry]}})

    (paper,) = found or [None]
    told = {
        "title": "QLoRA: Efficient Finetuning of Quantized LLMs",
        "authors": ("Tim Dettmers",),
        **{"date": "2023-05-23", "note": "Preprint"},
        **{"identifiers": ("arXiv:2305.14314",), "topics": ("cs.LG",)},
    }
    assert {name: getattr(paper, name) for name in told} == told


@pytest.mark.parametrize(
    "entry",
    [
        "Ada Vell, Noam Shaz, and Bo Polo. 2017. Walking is all you need. In Advances, 1–2.",
        "[1] A. Vell, N. Shaz, et al. Walking is all you need. In NIPS, 2017.",
        "Vell, A., Shaz, N. (2017). Walking is all you need. Advances in Neural, 30.",
        "[3] A. Vell et al., “Walking is all you need,” in Proc. NIPS, 2017, pp. 1–2.",
        "12. Vell A, Shaz N. Walking is all you need. Advances. 2017;30:1-2.",
    ],
)
def test_a_reference_is_read_in_the_usual_styles(entry: str) -> None:
    work = cited_work(entry)

    assert (work.title, work.year) == ("Walking is all you need", 2017)


@pytest.mark.parametrize(
    ("imprint", "year"),
    [
        ("", None),  # when the file was made is not when the paper was published
        ("Proceedings of Vell, 2018\n\n", 2018),
        ("arXiv:2001.03762\n\n", 2020),
        ("doi:10.1999/w.2001\n\n", None),
    ],
)
def test_a_pdf_that_states_no_year_has_none(imprint: str, year: int | None) -> None:
    text = (
        f"Walking Graphs\n\nAda Morn\n\n{imprint}Abstract\nWe walk.\n\n"
        "References\n[1] Lund. Paths. 2016."
    )
    paper = Document(source="a.pdf", text=text, created_at=datetime(2020, 5, 1, tzinfo=UTC))
    assert described(paper).metadata.get("year") == year

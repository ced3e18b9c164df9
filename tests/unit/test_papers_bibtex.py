"""BibTeX as people write it: what was meant comes out, and what cannot be read is named."""

from __future__ import annotations

import random

import pytest

from clew.indexing.reading.formats.bibliography import read_bibtex
from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.plugins.papers.reading import paper_of, read_bib
from clew.settings import ReadSettings

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
    ("{BERT}: Pre-training of {D}eep Bidirectional Transformers",) * 2,
    ("Attention Is All You Need", "Attention Is All You Need"),
    (r"Search \& Retrieval at 100\% Recall", "Search & Retrieval at 100% Recall"),
    (r"{\"U}ber die Grundlagen der {Q}uantenmechanik",) * 2,
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
TITLES[0] = (TITLES[0][0], "BERT: Pre-training of Deep Bidirectional Transformers")
TITLES[3] = (TITLES[3][0], "Über die Grundlagen der Quantenmechanik")

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
    ("year = {%d}", 0),
    ("year = %d", 0),
    ('Year = "%d"', 0),
    ("date = {%d-06-03}", 0),
    ("date = {%d/2023}", 0),
    ("YEAR={{%d}}", 0),
    ("year = {in press, %d}", 0),
    ("year = {\\noopsort{a}%d}", 0),
    ("year = {c%d}", 0),
]


def field(chance: random.Random, name: str, value: str) -> str:
    is_quotable = '"' not in value
    return (
        f'{name} = "{value}"' if is_quotable and chance.random() < 0.3 else f"{name} = {{{value}}}"
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
        others = " and others" if chance.random() < 0.1 else ""
        joint = chance.choice([" and ", "\n    and ", " AND "])
        fields = [
            field(
                chance,
                chance.choice(["author", "Author"]),
                joint.join(n for n, _ in people) + others,
            ),
            field(chance, chance.choice(["title", "TITLE"]), f"{written} {number}"),
            chance.choice(YEARS)[0] % year,
            chance.choice(
                ["journal = jml", 'journal = jml # " Letters"', "booktitle = {Proc. of X}"]
            ),
            chance.choice(["month = jun", "month = {June}", "month = 6", "pages = {1--2}"]),
            "abstract = {We show, by $x = {y}$, that 10\\% of {it} ``holds''.}",
        ]
        chance.shuffle(fields)
        kind = chance.choice(["article", "InProceedings", "MISC", "book"])
        opening, end = chance.choice([("{", "}"), ("{", "}"), ("(", ")")])
        comma = chance.choice(["", ","])
        key = f"{chance.choice(['a', 'x:y', 'doe-2019_', 'ü'])}{number}"
        entries.append(f"@{kind}{opening}{key},\n  " + ",\n  ".join(fields) + comma + f"\n{end}")
        if chance.random() < 0.05:
            entries.append("A line between the entries, with an {open brace")
        meant[key] = (tuple(n for _, n in people), f"{title} {number}", year)
    return "\n\n".join(entries), meant


def test_of_1000_entries_nearly_all_are_exact_and_no_failure_goes_unnamed() -> None:
    text, meant = generated(1000 - len(REAL_MEANT))
    meant |= REAL_MEANT
    papers, failed = read_bibtex(REAL + text)

    found = {paper.key: (paper.authors, paper.title, paper.year) for paper in papers}
    wrong = {
        key: (found.get(key), known) for key, known in meant.items() if found.get(key) != known
    }
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
        ("@article{good1, title = {Again}}", 3, "line 1"),
    ],
)
def test_a_bad_entry_is_named_by_its_line_and_the_others_are_read(
    broken: str, line: int, reason: str
) -> None:
    text = f"@misc{{good1, title={{First}}}}\n\n{broken}\n\n@misc{{good2, title={{Second}}}}\n"

    papers, failed = read_bibtex(text)

    assert [paper.title for paper in papers] == ["First", "Second"]
    assert [(one.line, reason in one.reason) for one in failed] == [(line, True)]


def test_an_entry_takes_from_its_crossref_what_it_lacks() -> None:
    papers, _ = read_bibtex(
        "@inproceedings{a, title={A}, crossref={p}}\n@proceedings{p, title={Proc. P}, year=1999}"
    )

    assert (papers[0].venue, papers[0].year) == ("Proc. P", 1999)


def read(text: str | bytes) -> ReadResult:
    data = text.encode() if isinstance(text, str) else text
    found = read_bib(RawFile(source="/library/all.bib", data=data, settings=ReadSettings()))
    assert found is not None
    return found


def test_an_entry_without_a_crossref_takes_nothing_from_one_without_a_key() -> None:
    papers, _ = read_bibtex("@misc{a, title={Undated}}\n@book{, title={Keyless}, year=1990}")

    assert [(one.title, one.year) for one in papers] == [("Undated", None), ("Keyless", 1990)]


def test_a_record_reads_back_from_its_own_text() -> None:
    text = r"""@article{a, title={A Paper}, author={Morn, Ada and Lund, Bo}, year=2019, journal={J},
      keywords={one; two}, abstract={We show it.}, methods={BERT}, datasets={GLUE; SQuAD},
      doi={10.1000/abc}, cites={b; 10.1000/XYZ; Some Other Title}}
    @misc{b, title={Earlier [with brackets] (2001)}, year=2011}"""
    documents = read(text).documents

    paper, places = paper_of(documents[0])

    assert paper.authors == ("Ada Morn", "Bo Lund")
    assert (paper.year, paper.venue, paper.abstract) == (2019, "J", "We show it.")
    assert (paper.methods, paper.datasets) == (("BERT",), ("GLUE", "SQuAD"))
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
    text = f"{entry}\n@misc{{b, title={{B}}}}"

    papers, failed = read_bibtex(text)

    assert [paper.key for paper in papers] + [one.key for one in failed] in (["a", "b"], ["b", "a"])


def test_other_encodings_are_read() -> None:
    text = "@misc{a, title={Größe}, author={Müller, Jörg}, year=1999}"

    assert read(text.encode("cp1252")).documents[0].title == "Größe"
    assert read(text.encode("utf-16")).documents[0].title == "Größe"


def test_entries_without_a_key_are_papers_of_their_own() -> None:
    papers, failed = read_bibtex(
        "@article{, title={One}}\n@article{,\n title={Two}}\n@misc{k,title={Three}}"
    )

    assert [one.title for one in papers] == ["One", "Two", "Three"]
    assert failed == []
    (twice,) = read_bibtex("@misc{k, title={One}}\n@misc{k, title={Two}}")[1]
    assert twice.reason == "the entry of line 1 has the same key"

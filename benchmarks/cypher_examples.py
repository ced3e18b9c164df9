"""How often the examples that a model is shown hold one of the question's own form.

    uv run --group dev python -m benchmarks.cypher_examples

Each question about films (`tests/e2e/film_graph.py`) is asked with all others as examples; those
whose form has no other question are left out.
"""

from __future__ import annotations

from collections import Counter

from clew.plugins.neo4j.cypher import Example, nearest_examples
from clew.settings import load_settings
from clew.wiring import make_embedder
from tests.e2e.film_graph import GOLDS


def main() -> None:
    """Measure and print, with the names in the examples left out and left in."""
    forms = {gold.question: gold.form for gold in GOLDS}
    several = Counter(forms.values())
    asked = [gold for gold in GOLDS if several[gold.form] > 1]
    embedder = make_embedder(load_settings())
    for names in ("left out", "left in"):
        known = [
            Example(
                question=gold.question,
                query=gold.query,
                parameters=dict(gold.parameters) if names == "left out" else {},
            )
            for gold in GOLDS
        ]
        found = first = 0
        for gold in asked:
            others = [example for example in known if example.question != gold.question]
            near = nearest_examples(gold.question, others, embedder)
            same = [forms[example.question] == gold.form for example in near]
            found, first = found + any(same), first + same[0]
        print(f"names {names}: of {len(asked)}, {first} by the first, {found} by any of four")


if __name__ == "__main__":
    main()

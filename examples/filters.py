"""Search what meets filters on metadata: in words, as data, and by date."""

import clew

RECORDS = [
    ("The loom of Vell was mended by Ada Morn.", {"year": 2019, "tags": ["loom"]}),
    ("The loom of Vell was mended by Tobias Fenn.", {"year": 2021, "tags": ["loom"]}),
    ("The loom of Vell was sold to Ilse Marrable.", {"year": 2023, "tags": ["sale", "draft"]}),
]

with clew.open("filters.clew") as store:
    for number, (text, metadata) in enumerate(RECORDS):
        store.add(text, source=f"record-{number}", metadata=metadata)

    question = "Who mended the loom of Vell?"
    since = store.search(question, where="year >= 2020 and not tags = draft", limit=1)
    print("since 2020:", since.hits[0].chunk.text)

    either = {
        "operator": "OR",
        "conditions": [
            {"field": "year", "operator": "<", "value": 2020},
            {"field": "tags", "operator": "contains", "value": "draft"},
        ],
    }
    print("either:", sorted(hit.chunk.source for hit in store.search(question, where=either)))
    print("without a question:", [document.source for document in store.list("tags = loom")])

"""Documents in and out: add, change, read, list, delete, and results as tables."""

import clew

with clew.open("documents.clew") as store:
    report = store.add_documents(
        clew.Document(source=f"note-{n}", text=f"Note {n} of Ada Morn.", metadata={"n": n})
        for n in range(5)
    )
    print("added:", report.added)

    store.update("note-1", text="Ada Morn left Vell.", metadata={"moved": True})
    print("changed:", store.text("note-1"), dict(store.get("note-1").metadata))

    page = store.list(limit=2)
    while page:
        print("page:", [document.source for document in page])
        page = store.list(after=page[-1].source, limit=2)

    print("deleted:", store.delete(["note-0"]), "and", store.delete(where="n >= 3"))
    print("left:", [document.source for document in store], len(store), "note-0" in store)
    for row in store.search("Who left Vell?", limit=1).to_dicts():
        print("row:", row["source"], row["text"])

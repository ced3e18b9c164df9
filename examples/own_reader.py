"""Read a format of your own: a plugin is an object whose methods are hooks."""

from pathlib import Path

import clew


def read_recipe(raw: clew.RawFile) -> clew.Document:
    """Make a document of a file whose first line is its title and whose second its cook."""
    title, cook, *steps = raw.data.decode().splitlines()
    text = f"{title} is a recipe by {cook}.\n" + "\n".join(steps)
    return clew.Document(source=raw.source, title=title, text=text, metadata={"cook": cook})


class Recipes:
    """Reads files that end with .recipe."""

    @clew.hookimpl
    def readers(self) -> dict[str, object]:
        """Return the readers by ending."""
        return {".recipe": read_recipe}


# Readers that stand in the program itself run in its process; those of a module that can be
# imported run in a worker process, within limits of time and memory.
settings = clew.load_settings(limits={"isolation": "none"})
folder = Path("recipes")
folder.mkdir(exist_ok=True)
(folder / "cake.recipe").write_text("Plum cake\nHanna Weber\nStone the plums.\nBake for an hour.")
with clew.open("own-reader.clew", settings=settings, plugins=[Recipes()]) as store:
    store.index(folder)
    print(store.search("What did Hanna Weber bake?", where="cook = Hanna Weber").hits[0].chunk.text)

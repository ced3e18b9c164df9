"""Packs: what a domain adds to the engine, as data and small functions; see docs/packs.md.

`pack` is the declaration, `load` finds one by name, `enabled` is what the engine sees of those that
a store has enabled. Each folder below is a pack that ships.
"""

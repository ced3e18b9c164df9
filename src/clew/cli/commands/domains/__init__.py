"""Commands of the packs that ship, a module each."""

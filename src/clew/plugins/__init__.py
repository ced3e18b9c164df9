"""The plugins that ship, a folder each, on the hooks of `clew.hookspecs` and on no others."""

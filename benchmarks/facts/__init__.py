"""Facts of ordinary life that sentences state, marked by hand."""

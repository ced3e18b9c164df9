"""Candidates: by vector, by keyword, through bridges and by a walk over the graph."""

"""Bibliographies and catalogues of papers: BibTeX, RIS, CSL, and what catalogues save as JSON."""

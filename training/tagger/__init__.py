"""Training of the tagger, which tells what names name and what sentences state of them."""

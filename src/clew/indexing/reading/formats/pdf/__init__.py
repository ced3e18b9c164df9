"""PDF: the text of its pages, and the layout of their lines."""

"""Names that their own letters and joints show: code, standards, words that ran together."""

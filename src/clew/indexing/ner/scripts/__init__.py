"""Names by what scripts and languages other than English show of them."""

"""Reading: find files or fetch an address, then turn bytes into documents."""

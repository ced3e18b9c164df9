"""What is content of a web page, and what leads to other pages."""

"""Documents of office programs and e-books: archives of XML, and the older containers."""

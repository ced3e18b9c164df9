"""`python -m clew` is the command `clew`."""

from clew.cli import start

if __name__ == "__main__":
    start()

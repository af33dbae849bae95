"""A small stand-in for the package dp_accounting, which Debian does not have: its names and
signatures only."""
from . import dp_event, privacy_accountant  # noqa: F401

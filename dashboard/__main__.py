"""Runs the command line as `python -m dashboard`."""

from dashboard.cli import main

main()

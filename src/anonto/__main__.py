"""``python -m anonto``: the command line."""

from anonto.cli.main import main

main()

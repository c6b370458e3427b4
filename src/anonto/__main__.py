"""``python -m anonto``: the command line."""

from anonto.cli.start import main

if __name__ == "__main__":
    main()

"""The command line, as ``python -m spaces``."""

from apps.command_line.cli import main

if __name__ == "__main__":
    main()

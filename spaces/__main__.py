"""The command line, as ``python -m spaces``."""

from spaces.apps.command_line.cli import main

if __name__ == "__main__":
    main()

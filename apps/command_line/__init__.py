"""The command-line program ``spaces``: a module a command, and what they share."""

"""The apps compute what their papers say, and the commands of ``spaces`` keep their promises."""

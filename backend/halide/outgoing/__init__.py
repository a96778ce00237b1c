"""Schedules and pipelines of this library on objects of Halide's Python package.

=============== ================================================================================
`entry_points`  `to_halide`, `write_hlpipe` and `apply`; none needs Halide before it is called
`files`         writes files, and reads them back
`applying`      puts a schedule on Funcs that are there, and reads it back
`existing`      the objects of such Funcs, by their names here
`obstacles`     why a schedule cannot be put on them, all at once
`forms`         schedules as Halide keeps them, to compare
=============== ================================================================================
"""

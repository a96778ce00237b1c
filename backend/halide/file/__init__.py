"""Files in which Halide keeps pipelines (``.hlpipe``), read without Halide.

=============== ================================================================================
`flat_buffer`   the bytes: tables, texts and vectors of FlatBuffers, each read inside its bounds
`wire`          what a slot of a table holds, and the slots of each table in each version
`nodes`         Halide's expressions as records
`contents`      Halide's Funcs, schedules, parameters and the whole pipeline as records
`decoding`      the records of a file: one walk without recursion, with a limit on its work
=============== ================================================================================

The records say what the file says. :mod:`spaces.backend.halide.incoming` gives them a meaning.
"""

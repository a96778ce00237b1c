"""Pipelines of Halide as pipelines of this library, with their schedules.

=============== ================================================================================
`program`       `read_hlpipe`: a file becomes a `HalideProgram`, with or without Halide
`live`          `from_halide`: so does a Func or Pipeline of Halide's Python package, by way of
                `serializing`
`roles`         which of Halide's Funcs are Funcs, and which stand for an image or a wrapper
`names`         the names that people wrote
`expressions`   expressions; `operators` lists intrinsics and functions
`arguments`     images, Params, and arrays inside the file
`facts`         their limits, strides and estimates
`foreign`       what is said of foreign code
`definitions`   Funcs with their updates and reduction domains
`loops`         the splits, loops and hints of one stage
`tails`         leaves out the tails that Halide has decided
`substitutes`   wrappers and clones
`scheduling`    the schedule of the whole pipeline
`scheduled`     which Funcs somebody has scheduled
`problems`      what cannot come in, all at once
=============== ================================================================================
"""

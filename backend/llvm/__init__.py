"""CPU code: LLVM IR turned into functions of this process, and what they need while they run.

``engine`` optimises and links IR text; ``runtime`` compiles the native helpers which generated
code calls (``workers``: parallel loops, ``scratch``: scratch memory); ``pools`` owns the
threads. Linux with the GNU or musl C library.
"""

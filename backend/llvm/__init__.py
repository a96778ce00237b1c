"""CPU code: LLVM IR, its compilation into functions of this process, and their runtime.

``spaces.machine_code`` optimises and links IR text. ``runtime`` compiles the native helpers that
generated code calls (``workers``: parallel loops, ``scratch``: scratch memory); its ``pools`` owns
the threads.
Everything here needs Linux with the GNU or musl C library.
"""

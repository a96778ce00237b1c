"""The runtime of generated code: the thread pool, scratch memory and native helpers."""

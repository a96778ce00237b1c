"""What runs beside generated code: the thread pool, scratch memory and native helpers."""

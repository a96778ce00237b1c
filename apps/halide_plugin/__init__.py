"""An autoscheduler for Halide's generators that asks this library: ``autoscheduler=Spaces``."""

"""From one schedule to another: Halide's directives, and [TOY]'s transformers."""

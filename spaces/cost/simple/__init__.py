"""Simple cost models for CPUs and GPUs: the roofline, and the weighted sum of [TOY]."""

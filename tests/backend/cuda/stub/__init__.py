"""A CUDA driver without a GPU, for programs that call the real packages of the driver."""

"""The limits of devices, and the number of blocks of a kernel that fit at a time."""

"""What a device can hold, and how many blocks of a kernel at a time."""

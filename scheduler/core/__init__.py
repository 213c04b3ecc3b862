"""The scheduler's brain: stimuli in, instructions out. Pure: no await, no I/O, no clock, no randomness of its own."""

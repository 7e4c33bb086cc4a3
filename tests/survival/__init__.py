"""What the warehouse survives: mutated files, kills, faults of the disk and a crowd of processes."""

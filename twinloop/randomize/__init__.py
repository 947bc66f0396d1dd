"""(Twin, run seed, i) -> Draws: every value that episode i varies, and nothing else."""

"""(Twin, Draws, actor) -> Episodes: physics at full batch width; the actor is an expert or a policy."""

"""What other packages that watch for repeated tool calls do on the calls that ours is shown."""

"""The frameworks, each with what is measured in it."""

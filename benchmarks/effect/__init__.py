"""What measures how a model's next step changes when it is reminded; README.md says how."""

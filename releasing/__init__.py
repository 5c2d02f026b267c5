"""What stands between a commit and its publication; docs/releasing.md says how it is used."""

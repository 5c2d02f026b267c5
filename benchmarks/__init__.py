"""What measures the detector on recorded conversations."""

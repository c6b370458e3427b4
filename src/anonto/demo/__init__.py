"""The synthetic discharge records of the demo."""

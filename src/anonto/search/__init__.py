"""Trees that find the nearest records among mixed values."""

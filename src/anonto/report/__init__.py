"""Evidence to reports: plain data, HTML that needs nothing but itself, JSON, and lines for a terminal."""

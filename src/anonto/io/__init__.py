"""Table files to batches and back: one file per format; files are written whole or not at all."""

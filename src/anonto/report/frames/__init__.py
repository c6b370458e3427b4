"""Evidence for the frames of law and good practice: one file per frame, from the data of a report to plain data."""

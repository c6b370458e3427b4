"""The command line: builds calls from words and shows what came back; no logic of its own."""

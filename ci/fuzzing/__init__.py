"""Coverage-guided fuzzing: what comes from a file or a client, byte by byte."""

"""The driver's process: sessions of clients, what they may use, and what their calls do."""

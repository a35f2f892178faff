"""The driver's process: sessions of clients, their quotas, and handlers of their calls."""

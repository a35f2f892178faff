"""A model over many items in files: where items come from, where results go, and runs that go on where they stopped."""

"""Objects with the standard's names and life cycles: Device, PreparedModel, requests, streams, futures."""

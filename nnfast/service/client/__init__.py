"""The client's side: the methods of nnfast.Device and PreparedModel on objects in the driver's process."""

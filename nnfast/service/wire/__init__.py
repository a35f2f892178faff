"""What client and server share: messages, the channel that carries them, and how a model travels."""

"""Real Kafka clients behind one small face: write these messages, read those back."""

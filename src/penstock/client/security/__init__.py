"""How clients of ours prove who they are and whom they trust, under the names that Kafka's clients have for it."""

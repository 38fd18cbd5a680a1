"""TLS of listeners: accepting, and handshakes that are bounded before they cost anything."""

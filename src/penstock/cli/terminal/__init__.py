"""What commands print and how they read values that users type."""

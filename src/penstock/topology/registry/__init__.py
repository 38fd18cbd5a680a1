"""The registry: who the nodes are, who lives, and who is whose parent. `hierarchy` decides, the rest is around it."""

"""What the coordinators of groups and of transactions have in common: shards on partitions of internal topics."""

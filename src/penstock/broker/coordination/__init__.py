"""Parts that the coordinators of groups and of transactions share: shards on partitions of internal topics."""

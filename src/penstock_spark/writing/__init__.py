"""From rows to topics: tasks encode, one transaction for each batch makes it seen."""

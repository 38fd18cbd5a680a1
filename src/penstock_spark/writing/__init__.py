"""Writing of rows to topics: tasks encode, and one transaction per batch makes it visible."""

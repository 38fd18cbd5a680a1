"""Bulk jobs that need Arrow: archives of topics as Parquet, their way back, and loads of Parquet files."""

"""Bulk jobs that need Arrow: archives of topics as Parquet, their replay, and loads of Parquet files."""

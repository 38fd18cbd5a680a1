"""Topics as tables: a notebook in cells.

Run it whole with `python examples/topics_as_tables.py [HOST:PORT]`, or cell by cell in an editor that knows `# %%`.
It needs a broker (`penstock serve`) and `pip install 'penstock[spark]'`.
"""

# %% A session. Nothing is registered: `format("penstock")` is there after the installation.
import os
import sys
import tempfile

from pyspark.sql import SparkSession

BROKER = sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

# %% Prices into a topic: typed columns become JSON, the symbol is the key.
prices = spark.createDataFrame(
    [("ACME", 10.0, 5), ("ACME", 12.5, 1), ("PIPE", 99.0, 2), ("PIPE", 98.0, 7), ("ACME", 11.0, 3)],
    "symbol STRING, price DOUBLE, lots INT",
)
to_topic = {"kafka.bootstrap.servers": BROKER, "topic": "example-prices", "valueFormat": "json", "keyColumn": "symbol"}
prices.coalesce(1).write.format("penstock").mode("append").options(**to_topic).save()

# %% The topic as a table in SQL: its whole history, and whatever was acknowledged before a query starts.
spark.sql(
    f"""
    CREATE OR REPLACE TEMPORARY VIEW prices USING penstock OPTIONS (
        `kafka.bootstrap.servers` '{BROKER}', subscribe 'example-prices',
        valueFormat 'json', valueSchema 'symbol STRING, price DOUBLE, lots INT'
    )
    """
)
spark.sql("SELECT symbol, count(*) AS trades, max(price) AS high, sum(lots) AS lots FROM prices GROUP BY symbol").show()

# %% The latest price of each symbol: the last record of each key.
latest = (
    spark.read.format("penstock")
    .options(**{"kafka.bootstrap.servers": BROKER, "subscribe": "example-prices", "mode": "upsert"})
    .options(valueFormat="json", valueSchema="symbol STRING, price DOUBLE, lots INT")
    .load()
)
latest.select("symbol", "price", "_offset").orderBy("symbol").show()

# %% As a stream into another topic, exactly once: run this cell again, and nothing is there twice.
stream = (
    spark.readStream.format("penstock")
    .options(**{"kafka.bootstrap.servers": BROKER, "subscribe": "example-prices", "startingOffsets": "earliest"})
    .options(valueFormat="json", valueSchema="symbol STRING, price DOUBLE, lots INT")
    .load()
    .where("price * lots > 100")
    .select("symbol", "price", "lots")
)
checkpoint = tempfile.mkdtemp(prefix="penstock-example-")
large = stream.writeStream.format("penstock").options(**{**to_topic, "topic": "example-large-trades"})
large.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()

# %% What came of it.
trades = spark.read.format("penstock").options(
    **{"kafka.bootstrap.servers": BROKER, "subscribe": "example-large-trades"}
)
trades.load().selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)").show(truncate=False)
spark.stop()

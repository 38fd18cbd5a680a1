-- One-minute bars for each symbol.
--
-- A bar is written once, when its minute is over: no price may come later than half a minute after the newest one. So
-- the newest minute is missing until a price comes that closes it. (It is in SQL because Spark 4.3 refuses withWatermark on
-- a table of the same pipeline.)
CREATE STREAMING TABLE bars AS
SELECT
  window.start AS minute,
  symbol,
  min_by(price, time) AS open,
  max(price) AS high,
  min(price) AS low,
  max_by(price, time) AS close,
  sum(size) AS volume,
  count(*) AS prices
FROM STREAM prices WATERMARK time DELAY OF INTERVAL 30 SECONDS
GROUP BY window(time, '1 minute'), symbol

-- The last price of each symbol.
CREATE MATERIALIZED VIEW latest_price AS
SELECT symbol, max_by(price, time) AS price, max(time) AS time, count(*) AS prices
FROM prices
GROUP BY symbol

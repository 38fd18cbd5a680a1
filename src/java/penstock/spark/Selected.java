package penstock.spark;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What a query reads, in the words of Spark's Kafka connector: {@code Subscribe[prices]}. No other option shows. */
final class Selected {
  private final String text;

  Selected(CaseInsensitiveStringMap options) {
    text = named(options, "Subscribe", "subscribe")
        + named(options, "SubscribePattern", "subscribePattern")
        + named(options, "Assign", "assign");
  }

  private static String named(CaseInsensitiveStringMap options, String word, String option) {
    String value = options.get(option);
    return value == null ? "" : word + "[" + value.replaceAll("\\s*,\\s*", ", ").trim() + "]";
  }

  @Override
  public String toString() {
    return PenstockProvider.NAME + "[" + text + "]";
  }
}

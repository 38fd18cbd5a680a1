package penstock.spark;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What a query reads, in the words of Spark's Kafka connector: {@code Subscribe[prices]}. No other option shows. */
final class Selected {
  private final String text;

  Selected(CaseInsensitiveStringMap options) {
    String topics = options.get("subscribe");
    text = named("Subscribe", topics == null ? null : topics.trim().replaceAll("\\s*,\\s*", ", "))
        + named("SubscribePattern", options.get("subscribePattern"))
        + named("Assign", options.get("assign"));
  }

  private static String named(String word, String value) {
    return value == null ? "" : word + "[" + value + "]";
  }

  @Override
  public String toString() {
    return PenstockProvider.NAME + "[" + text + "]";
  }
}

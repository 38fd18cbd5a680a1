package penstock.spark;

import com.fasterxml.jackson.databind.JsonNode;

/** What Python has raised: its kind and its text, and its way only if that is a mistake of ours. */
final class CompanionError extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CompanionError(JsonNode told) {
    super(text(told), null, false, false);
  }

  private static String text(JsonNode told) {
    String trace = told.path("trace").asText();
    return told.path("kind").asText() + ": " + told.path("text").asText() + (trace.isEmpty() ? "" : "\n" + trace);
  }
}

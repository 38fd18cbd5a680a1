package penstock.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.python.PythonUtils$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;

/**
 * The process of Python that plans queries and commits writes ({@code penstock_spark.companion}), one for an application.
 *
 * <p>Spark itself would start a daemon and a worker for each kind of question, one after the other; the first query
 * would wait for all of them, and every later one for several. Calls are answered in any order; the form of both is
 * described in {@code wire.py}.
 */
final class Companion {
  /** Of the calls; the other side tells its own first. */
  private static final int VERSION = 3;

  private static final long HELLO = 0;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static Companion current;

  private final SparkContext context;
  private final String python = PythonUtils$.MODULE$.defaultPythonExec();
  private final Process process;
  private final DataOutputStream calls;
  private final AtomicLong numbers = new AtomicLong(HELLO);
  private final Map<Long, CompletableFuture<Answer>> waiting = new ConcurrentHashMap<>();
  private volatile boolean isGone;

  /** The answer to a call: fields, and bytes that are not for JSON. */
  record Answer(JsonNode fields, List<byte[]> parts) {}

  /** The companion of the running application. It is started by the first query, and ends with the application. */
  static synchronized Companion ofActive() {
    SparkContext context = SparkContext.getOrCreate();
    if (current == null || current.isGone || current.context != context) {
      if (current != null) {
        current.end();
      }
      current = new Companion(context);
    }
    return current;
  }

  private Companion(SparkContext context) {
    this.context = context;
    CompletableFuture<Answer> hello = new CompletableFuture<>();
    waiting.put(HELLO, hello);
    ProcessBuilder builder = new ProcessBuilder(python, "-m", "penstock_spark.companion");
    builder.environment().put("PYTHONPATH", path());
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    try {
      process = builder.start();
    } catch (IOException error) {
      throw new IllegalStateException("format(\"penstock\") needs Python: " + error.getMessage(), error);
    }
    calls = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
    Thread reader = new Thread(this::receive, "penstock companion");
    reader.setDaemon(true);
    reader.start();
    context.addSparkListener(new SparkListener() {
      @Override
      public void onApplicationEnd(SparkListenerApplicationEnd ended) {
        end();
      }
    });
    int version = await(hello).fields().path("version").asInt();
    if (version != VERSION) {
      end();
      throw new IllegalStateException(
          "penstock-spark.jar and the package penstock of " + python + " are of different versions: install the same of both");
    }
  }

  /** Where Python looks for packages: as Spark's own workers do. */
  private static String path() {
    StringBuilder all = new StringBuilder(PythonUtils$.MODULE$.sparkPythonPath());
    String given = System.getenv("PYTHONPATH");
    if (given != null && !given.isEmpty()) {
      all.append(File.pathSeparator).append(given);
    }
    String files = SparkFiles.getRootDirectory();
    all.append(File.pathSeparator).append(files);
    String[] added = new File(files).list((directory, name) -> name.matches(".*\\.(zip|egg|whl)"));
    for (String name : added == null ? new String[0] : added) {
      all.append(File.pathSeparator).append(new File(files, name));
    }
    return all.toString();
  }

  static ObjectNode fields() {
    return JSON.createObjectNode();
  }

  static ObjectNode options(Map<String, String> options) {
    ObjectNode found = fields();
    options.forEach(found::put);
    return found;
  }

  /** Ask, and wait for the answer. A {@link CompanionError} is what the other side raised. */
  Answer ask(String call, ObjectNode fields, List<byte[]> parts) {
    return begin(call, fields, parts).get();
  }

  /** Ask, and wait when the answer is wanted. */
  Supplier<Answer> begin(String call, ObjectNode fields, List<byte[]> parts) {
    long number = numbers.incrementAndGet();
    CompletableFuture<Answer> answer = new CompletableFuture<>();
    waiting.put(number, answer);
    if (isGone) {
      answer.completeExceptionally(gone());
    }
    try {
      send(number, JSON.writeValueAsBytes(fields.put("call", call)), parts);
    } catch (IOException error) {
      answer.completeExceptionally(gone());
    }
    return () -> {
      try {
        return await(answer);
      } finally {
        waiting.remove(number);
      }
    };
  }

  Answer ask(String call, ObjectNode fields) {
    return ask(call, fields, List.of());
  }

  /** Ask for something whose outcome does not matter to us. */
  void tell(String call, ObjectNode fields) {
    try {
      send(numbers.incrementAndGet(), JSON.writeValueAsBytes(fields.put("call", call)), List.of());
    } catch (IOException gone) {
      isGone = true;
    }
  }

  private synchronized void send(long number, byte[] header, List<byte[]> parts) throws IOException {
    calls.writeLong(number);
    write(header);
    calls.writeInt(parts.size());
    for (byte[] part : parts) {
      write(part);
    }
    calls.flush();
  }

  private void write(byte[] part) throws IOException {
    calls.writeInt(part.length);
    calls.write(part);
  }

  private static Answer await(CompletableFuture<Answer> answer) {
    try {
      return answer.get();
    } catch (ExecutionException failed) {
      throw Sneaky.<RuntimeException>thrown(failed.getCause());
    } catch (InterruptedException stopped) {
      throw Sneaky.<RuntimeException>thrown(stopped); // as Spark wants it of a query that is stopped
    }
  }

  private void receive() {
    try (DataInputStream answers = new DataInputStream(new BufferedInputStream(process.getInputStream()))) {
      while (true) {
        long number = answers.readLong();
        JsonNode fields = JSON.readTree(new String(part(answers), StandardCharsets.UTF_8));
        int count = answers.readInt();
        List<byte[]> parts = new ArrayList<>(count);
        for (int each = 0; each < count; each++) {
          parts.add(part(answers));
        }
        CompletableFuture<Answer> answer = waiting.remove(number);
        if (answer == null) {
          continue; // the query was stopped meanwhile
        }
        if (fields.has("error")) {
          answer.completeExceptionally(new CompanionError(fields.get("error")));
        } else {
          answer.complete(new Answer(fields, parts));
        }
      }
    } catch (IOException end) {
      isGone = true;
      waiting.values().forEach(answer -> answer.completeExceptionally(gone()));
    }
  }

  private static byte[] part(DataInputStream answers) throws IOException {
    byte[] found = new byte[answers.readInt()];
    answers.readFully(found);
    return found;
  }

  private IllegalStateException gone() {
    return new IllegalStateException(
        "the Python process of format(\"penstock\") has ended; the log of the driver says why. Is penstock[spark]"
            + " installed for " + python + "?");
  }

  /** End the process, which does so when its input ends. */
  private void end() {
    isGone = true;
    try {
      process.getOutputStream().close();
    } catch (IOException error) {
      process.destroy();
    }
  }
}

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/** What program.py asks for, with Kafka's own client. */
public class SecuredClient {
    private static final String STRING = "org.apache.kafka.common.serialization.String";
    private final Map<String, String> task = new HashMap<>();
    private final Properties client = new Properties();

    public static void main(String[] arguments) throws Exception {
        try {
            new SecuredClient().run();
        } catch (Exception error) {
            for (Throwable each = error; each != null; each = each.getCause()) {
                System.out.println("failed " + each);
            }
            System.exit(1);
        }
    }

    private void run() throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] pair = line.split("=", 2);
            if (pair[0].startsWith("client.")) {
                client.put(pair[0].substring("client.".length()), pair[1]);
            } else {
                task.put(pair[0], pair[1]);
            }
        }
        switch (task.get("act")) {
            case "connect" -> connect();
            case "exchange" -> exchange();
            default -> stream();
        }
    }

    private void connect() throws Exception {
        try (Admin admin = Admin.create(client)) {
            admin.describeCluster().clusterId().get();
        }
    }

    private KafkaProducer<String, String> producer() {
        Properties given = with("serializer", "Serializer");
        given.put("acks", "all");
        given.put("linger.ms", "5");
        return new KafkaProducer<>(given);
    }

    private KafkaConsumer<String, String> consumer() {
        Properties given = with("deserializer", "Deserializer");
        given.put("group.id", task.get("group"));
        given.put("auto.offset.reset", "earliest");
        var consumer = new KafkaConsumer<String, String>(given);
        consumer.subscribe(List.of(task.get("topic")));
        return consumer;
    }

    private Properties with(String kind, String name) {
        Properties given = new Properties();
        given.putAll(client);
        given.put("key." + kind, STRING + name);
        given.put("value." + kind, STRING + name);
        return given;
    }

    private void exchange() throws Exception {
        String[] values = task.get("values").split(",");
        try (var producer = producer()) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String value : values) {
                sent.add(producer.send(new ProducerRecord<>(task.get("topic"), value)));
            }
            for (int index = 0; index < values.length; index++) {
                sent.get(index).get();
                System.out.println("sent " + values[index]);
            }
            try {
                producer.send(new ProducerRecord<>(task.get("closed"), "no right")).get();
            } catch (ExecutionException error) {
                System.out.println("refused " + error.getCause().getClass().getSimpleName());
            }
        }
        try (var consumer = consumer()) {
            for (int found = 0; found < values.length; ) {
                found += read(consumer, 500);
            }
        }
    }

    private void stream() throws Exception {
        long seconds = Long.parseLong(task.get("seconds"));
        long until = Long.MAX_VALUE; // the time begins with the first message that is read
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        int found = 0;
        try (var producer = producer(); var consumer = consumer()) {
            while (System.nanoTime() < until) {
                sent.add(producer.send(new ProducerRecord<>(task.get("topic"), String.valueOf(sent.size()))));
                found += read(consumer, 5);
                if (found > 0 && until == Long.MAX_VALUE) {
                    until = System.nanoTime() + seconds * 1_000_000_000L;
                }
            }
            for (int index = 0; index < sent.size(); index++) {
                sent.get(index).get();
                System.out.println("sent " + index);
            }
            while (found < sent.size()) {
                found += read(consumer, 500);
            }
        }
    }

    private static int read(KafkaConsumer<String, String> consumer, int waitMs) {
        int count = 0;
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(waitMs))) {
            System.out.println("found " + record.value());
            count++;
        }
        return count;
    }
}

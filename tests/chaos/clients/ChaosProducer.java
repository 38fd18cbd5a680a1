import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/** A transactional producer that does what lines on stdin say, and answers each with a line: "ok …" or "error …". */
public class ChaosProducer {
    private static KafkaProducer<String, String> producer;

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            properties.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
        properties.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        properties.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                answer = "ok" + obey(line.split("\t"), properties);
            } catch (Exception error) {
                answer = "error " + String.valueOf(error).replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static String obey(String[] words, Properties properties) throws Exception {
        switch (words[0]) {
            case "start":
                producer = new KafkaProducer<>(properties);
                producer.initTransactions();
                return "";
            case "begin":
                producer.beginTransaction();
                return "";
            case "send":
                return send(words);
            case "offset":
                producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition(words[2], Integer.parseInt(words[3])),
                        new OffsetAndMetadata(Long.parseLong(words[4]))),
                    new ConsumerGroupMetadata(words[1]));
                return "";
            case "commit":
                producer.commitTransaction();
                return "";
            case "abort":
                producer.abortTransaction();
                return "";
            case "close":
                producer.close(Duration.ZERO);
                return "";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** Topic, partition, key and value of each record in turn; the offsets, or -1 where nobody knows. */
    private static String send(String[] words) {
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        for (int place = 1; place < words.length; place += 4) {
            futures.add(producer.send(new ProducerRecord<>(
                words[place], Integer.valueOf(words[place + 1]), words[place + 2], words[place + 3])));
        }
        producer.flush();
        StringBuilder offsets = new StringBuilder();
        for (Future<RecordMetadata> future : futures) {
            long offset = -1;
            try {
                offset = future.get().offset();
            } catch (Exception error) {
                // the outcome is unknown
            }
            offsets.append(' ').append(offset);
        }
        return offsets.toString();
    }
}

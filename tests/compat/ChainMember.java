import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/**
 * What chain_member.py says, with Kafka's own client, which speaks the second generation of the transaction protocol.
 * Arguments: name=value, where names begin with "member." (its own), "consumer." or "producer." (settings of these).
 */
public class ChainMember implements ConsumerRebalanceListener {
    private static final int FATAL = 3;
    private static volatile boolean ending = false;

    private final String source;
    private final String target;
    private final String name;
    private final int abortEvery;
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;
    private final Map<TopicPartition, Long> first = new HashMap<>();

    private ChainMember(Map<String, String> own, Properties consuming, Properties producing) {
        source = own.get("member.source");
        target = own.get("member.target");
        name = producing.getProperty("transactional.id");
        abortEvery = Integer.parseInt(own.get("member.abort_every"));
        producer = new KafkaProducer<>(producing);
        producer.initTransactions();
        consumer = new KafkaConsumer<>(consuming);
        consumer.subscribe(List.of(source), this);
    }

    public static void main(String[] arguments) {
        Map<String, String> own = new HashMap<>();
        Properties consuming = new Properties();
        Properties producing = new Properties();
        for (String argument : arguments) {
            String[] pair = argument.split("=", 2);
            if (pair[0].startsWith("member.")) {
                own.put(pair[0], pair[1]);
            } else if (pair[0].startsWith("consumer.")) {
                consuming.put(pair[0].substring("consumer.".length()), pair[1]);
            } else if (pair[0].startsWith("producer.")) {
                producing.put(pair[0].substring("producer.".length()), pair[1]);
            }
        }
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            ending = true;
            try {
                main.join();
            } catch (InterruptedException ignored) {
                // it ends anyway
            }
        }));
        try {
            new ChainMember(own, consuming, producing).run();
        } catch (Exception error) {
            say("fatal", "error", error.toString());
            Runtime.getRuntime().halt(FATAL);
        }
    }

    private void run() {
        for (int number = 1; !ending;) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
            if (records.isEmpty()) {
                continue;
            }
            try {
                runTransaction(records, consumer.groupMetadata(), number++ % abortEvery != 0);
            } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException
                | UnsupportedVersionException | TimeoutException error) {
                throw error;
            } catch (KafkaException error) {
                producer.abortTransaction();
                first.keySet().retainAll(consumer.assignment());
                first.forEach(consumer::seek);
                say("aborted", "reason", error.toString());
            }
        }
        consumer.close();
        producer.close();
    }

    private void runTransaction(ConsumerRecords<String, String> records, ConsumerGroupMetadata group, boolean commit) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        first.clear();
        producer.beginTransaction();
        say("begun");
        for (ConsumerRecord<String, String> record : records) {
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            first.putIfAbsent(partition, record.offset());
            offsets.put(partition, new OffsetAndMetadata(record.offset() + 1));
            producer.send(new ProducerRecord<>(target, record.key(), record.value() + "|" + name));
        }
        producer.flush();
        say("sent");
        producer.sendOffsetsToTransaction(offsets, group);
        say("offsets");
        if (!commit) {
            throw new KafkaException("of its own accord");
        }
        say("committing");
        producer.commitTransaction();
        say("committed", "records", String.valueOf(records.count()));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        say("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        say("assigned", List.of());
    }

    private static void say(String event, Collection<TopicPartition> partitions) {
        String numbers = partitions.stream().map(each -> String.valueOf(each.partition()))
            .collect(Collectors.joining(","));
        print("{\"event\":\"" + event + "\",\"partitions\":[" + numbers + "]}");
    }

    private static void say(String event, String... more) {
        StringBuilder line = new StringBuilder("{\"event\":\"" + event + "\"");
        for (int place = 0; place < more.length; place += 2) {
            String value = more[place + 1].replace("\\", "/").replace("\"", "'").replace("\n", " ");
            line.append(",\"").append(more[place]).append("\":\"").append(value).append('"');
        }
        print(line.append('}').toString());
    }

    private static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}

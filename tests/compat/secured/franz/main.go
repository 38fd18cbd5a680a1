// What program.py asks for, with franz-go: one JSON document on stdin, a word and a text in each line of stdout.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type task struct {
	Act, Topic, Closed, Group, Values, Seconds string
	Client                                     map[string]string
}

func main() {
	var wanted task
	err := json.NewDecoder(os.Stdin).Decode(&wanted)
	if err == nil {
		err = run(wanted)
	}
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
}

func run(wanted task) error {
	security, err := options(wanted.Client)
	if err != nil {
		return err
	}
	switch wanted.Act {
	case "connect":
		return connect(security)
	case "exchange":
		return exchange(wanted, security)
	}
	return stream(wanted, security)
}

func options(given map[string]string) ([]kgo.Opt, error) {
	found := []kgo.Opt{kgo.SeedBrokers(given["bootstrap.servers"])}
	if strings.HasSuffix(given["security.protocol"], "SSL") {
		config, err := tlsConfig(given)
		if err != nil {
			return nil, err
		}
		found = append(found, kgo.DialTLSConfig(config))
	}
	user, password := given["sasl.username"], given["sasl.password"]
	switch given["sasl.mechanism"] {
	case "PLAIN":
		found = append(found, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
	case "SCRAM-SHA-256":
		found = append(found, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		found = append(found, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()))
	}
	return found, nil
}

func tlsConfig(given map[string]string) (*tls.Config, error) {
	authorities, err := os.ReadFile(given["ssl.ca.location"])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authorities)
	if file := given["ssl.certificate.location"]; file != "" {
		own, err := tls.LoadX509KeyPair(file, given["ssl.key.location"])
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func connect(security []kgo.Opt) error {
	client, err := kgo.NewClient(append(security, kgo.RequestRetries(0))...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(context.Background())
}

func newConsumer(wanted task, security []kgo.Opt) (*kgo.Client, error) {
	start := kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())
	return kgo.NewClient(append(security, kgo.ConsumerGroup(wanted.Group), kgo.ConsumeTopics(wanted.Topic), start)...)
}

func produced(client *kgo.Client, topic, value string) error {
	record := &kgo.Record{Topic: topic, Value: []byte(value)}
	return client.ProduceSync(context.Background(), record).FirstErr()
}

func exchange(wanted task, security []kgo.Opt) error {
	producer, err := kgo.NewClient(security...) // it waits for all replicas and is idempotent by itself
	if err != nil {
		return err
	}
	defer producer.Close()
	values := strings.Split(wanted.Values, ",")
	for _, value := range values {
		if err := produced(producer, wanted.Topic, value); err != nil {
			return err
		}
		fmt.Println("sent", value)
	}
	var refusal *kerr.Error
	if errors.As(produced(producer, wanted.Closed, "no right"), &refusal) {
		fmt.Println("refused", refusal.Message)
	}
	consumer, err := newConsumer(wanted, security)
	if err != nil {
		return err
	}
	defer consumer.Close()
	for found := 0; found < len(values); {
		count, err := read(context.Background(), consumer, nil)
		if err != nil {
			return err
		}
		found += count
	}
	return nil
}

// Reads what is there; seen counts each value once.
func read(ctx context.Context, consumer *kgo.Client, seen map[string]bool) (int, error) {
	fetches := consumer.PollFetches(ctx)
	if err := fetches.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	count := 0
	fetches.EachRecord(func(record *kgo.Record) {
		fmt.Println("found", string(record.Value))
		if seen != nil {
			seen[string(record.Value)] = true
		}
		count++
	})
	return count, nil
}

func stream(wanted task, security []kgo.Opt) error {
	producer, err := kgo.NewClient(security...)
	if err != nil {
		return err
	}
	defer producer.Close()
	consumer, err := newConsumer(wanted, security)
	if err != nil {
		return err
	}
	defer consumer.Close()
	seconds, err := strconv.Atoi(wanted.Seconds)
	if err != nil {
		return err
	}
	seen, number := map[string]bool{}, 0
	var until time.Time // the time begins with the first message that is read
	for ; until.IsZero() || time.Now().Before(until); number++ {
		if err := produced(producer, wanted.Topic, strconv.Itoa(number)); err != nil {
			return err
		}
		fmt.Println("sent", number)
		if err := readFor(consumer, seen, 10*time.Millisecond); err != nil {
			return err
		}
		if len(seen) > 0 && until.IsZero() {
			until = time.Now().Add(time.Duration(seconds) * time.Second)
		}
	}
	for len(seen) < number {
		if err := readFor(consumer, seen, time.Second); err != nil {
			return err
		}
	}
	return nil
}

func readFor(consumer *kgo.Client, seen map[string]bool, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err := read(ctx, consumer, seen)
	return err
}

#!/bin/sh
# Fetches the real parts that the compat tests use: kcat, Apache Kafka with its Java tools, Kafka Streams, Spark's
# Kafka connector, kafkajs, and the codecs that kafka-python wants.
# Safe to run again: what is already there is left alone. For Debian; elsewhere install kcat, a JDK 17 or newer,
# Maven, Node.js 20 and Go first, and this script does the rest.
set -eu
cd "$(dirname "$0")"

missing=""
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need kcat kcat
need java openjdk-17-jre-headless
need javac openjdk-17-jdk-headless
need mvn maven
need node nodejs
need npm npm
need go golang-go
if [ -n "$missing" ]; then
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    $as_root apt-get update -q
    # shellcheck disable=SC2086  # a list of packages
    $as_root apt-get install -q -y --no-install-recommends $missing
fi

# A stamp holds the checksum of what asked for the parts, so a changed version fetches again.
fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$(cksum <"$2")" ]; }

if ! fresh .cache/kafka.stamp pom.xml; then
    rm -rf .cache/kafka
    mvn -q -B -f pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/.cache/kafka"
    cksum <pom.xml >.cache/kafka.stamp
fi

if ! fresh .cache/streams.stamp streams-pom.xml; then
    rm -rf .cache/streams
    mvn -q -B -f streams-pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/.cache/streams"
    cksum <streams-pom.xml >.cache/streams.stamp
fi

if ! fresh .cache/spark.stamp spark-pom.xml; then
    rm -rf .cache/spark
    mvn -q -B -f spark-pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD/.cache/spark"
    cksum <spark-pom.xml >.cache/spark.stamp
fi

if ! fresh .cache/node.stamp package-lock.json || [ ! -d node_modules/kafkajs ]; then
    mkdir -p .cache
    npm ci --no-audit --no-fund --loglevel=error
    cksum <package-lock.json >.cache/node.stamp
fi

venv=../../.venv
if [ -x "$venv/bin/python" ] && ! fresh "$venv/.compat-installed" requirements.txt; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt
    cksum <requirements.txt >"$venv/.compat-installed"
fi

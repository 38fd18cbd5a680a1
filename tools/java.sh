#!/usr/bin/env bash
# Java for Spark: installs the JDK of OpenJDK 17 from the distribution where there is none and this user may; otherwise
# says what to install. With --required it fails when there is still no Java; without, the broker and its tests need
# none. Spark runs with a runtime alone; the compiler is for src/java, and tools/spark_jar.py says what is missed without.
set -euo pipefail

has_java() {
    local java version
    java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
    version="$("$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1)" || return 1
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

has_compiler() {
    command -v "${JAVA_HOME:+$JAVA_HOME/bin/}javac" >/dev/null || command -v javac >/dev/null
}

has_java && has_compiler && exit 0
if command -v apt-get >/dev/null; then
    if [ "$(id -u)" -eq 0 ]; then
        as_root=""
    elif sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        as_root="no"
    fi
    if [ "$as_root" != no ]; then
        echo "Installing a JDK of Java 17 for Spark …"
        { $as_root apt-get update -qq && $as_root apt-get install -y -qq openjdk-17-jdk-headless; } >/dev/null || true
    fi
fi
has_java && exit 0
echo "Spark and pipelines need Java 17 or newer: apt-get install openjdk-17-jdk-headless, or let JAVA_HOME name one." >&2
[ "${1:-}" != --required ]

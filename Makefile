# Penstock from a clone: `make demo` shows it, `make run` serves, `make test` checks what can be checked in minutes.
# Every target makes .venv first; that is a no-op while requirements/ and pyproject.toml are unchanged.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
COMPILED := .venv/.compiled
JAR := .venv/.spark-jar
# What the linters look at: the packages that exist.
CODE := $(wildcard src tests tools bench examples)
PYTEST := $(BIN)/pytest -n 3 --dist worksteal
# Twice as many as cores: half of the time of these tests is waiting for processes and timers.
QUICK := $(BIN)/pytest -n $(or $(WORKERS),4) --dist worksteal
RULES := tests/unit/house
# Without bytecode every process that a test starts would compile Penstock once more: a third of the time of all tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help all setup demo run test quick test-rest test-full lint build smoke docs compat compat-setup spark spark-kills differential compat-suites crash crash-setup scale fuzz security load soak soak-smoke chaos nightly bench bench-quick bench-clients bench-age bench-spark bench-push bench-security bench-sustained features clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

all: test-full build docs ## what a release needs: setup, lint, every test but the long suites, packages with their smoke test, the site

setup: $(STAMP) $(COMPILED) $(JAR) ## make .venv with Penstock and every tool in it

$(STAMP): requirements/runtime.txt requirements/spark.txt requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Penstock needs Python 3.11 or newer; name one: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv
	tools/install.sh
	tools/java.sh
	@touch $@

# The loops that numba compiles are kept beside the sources; a change of them is compiled again when it is first run.
$(COMPILED): $(STAMP)
	$(BIN)/python -m penstock_spark.precompile
	@touch $@

# The part of the Spark source that runs in the JVM. Without a JDK it says so, once, and Spark works without it.
$(JAR): $(STAMP) $(wildcard src/java/penstock/spark/*.java) tools/spark_jar.py
	@$(BIN)/python -m tools.spark_jar
	@touch $@

demo: setup ## a broker, a stream of stock prices, a pipeline on Spark, bars as a table and as demo/bars.html
	$(BIN)/penstock demo

run: setup ## serve on the default ports with ./data, until Ctrl-C
	$(BIN)/penstock serve --data-dir ./data

test: $(STAMP) ## lint and the quick tests: every behaviour, in less than 8 minutes from a clone on two cores
	@tools/check.sh $(MAKE) --no-print-directory quick

# The rules of the tree are left to `make lint`, which runs beside these tests.
quick: setup
	$(QUICK) --ignore $(RULES)

test-rest: setup ## what `make test-full` runs beyond `make test`
	$(QUICK) -m "$(REST)"

test-full: ## `make test`, then every variant, kill and long wait that it leaves out
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest

REST := full and not slow and not compat and not spark

lint: $(STAMP) ## ruff, mypy --strict, the order of the layers, the feature table, the rules of the tree
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/python tools/features.py --check
	$(BIN)/mypy --strict $(CODE)
	$(BIN)/lint-imports
	$(BIN)/pytest -q $(RULES)

compat-setup: setup ## fetch the real clients that `make compat` runs
	@if [ -x tests/compat/setup.sh ]; then tests/compat/setup.sh; fi

compat: compat-setup ## real Kafka clients and tools, unmodified, against the broker
	$(PYTEST) tests/compat tests/own_clients -m compat

spark: compat-setup ## topics as Spark tables and streams and in pipelines, in real sessions; needs Java 17 or newer
	tools/java.sh --required
	$(BIN)/python -m tools.spark_jar --required
	$(BIN)/pytest tests/spark -m spark

spark-kills: compat-setup ## a stream from topic to topic, a hundred kills at random and a hundred in transactions; KILLS=10, SEED=2, TARGET=kafka
	PENSTOCK_TEST_KILLS=$(or $(KILLS),100) PENSTOCK_TEST_SEED=$(or $(SEED),1) $(if $(TARGET),PENSTOCK_TEST_TARGET=$(TARGET)) \
		$(BIN)/pytest tests/spark/test_spark_kills.py tests/spark/test_spark_aimed_kills.py -m slow -s --timeout 14400

compat-suites: compat-setup ## the tests that client libraries publish, on Kafka and on the broker; SUITE=name for one
	$(BIN)/python -m tests.suites $(SUITE)

differential: compat-setup ## the same requests to Apache Kafka and Penstock, answers compared; ONLY="fetch*", RECORD=1
	$(BIN)/python -m tests.differential $(foreach name,$(ONLY),--only '$(name)') $(if $(RECORD),--record)

crash-setup: ## install strace, with which system calls are watched and made to fail
	@command -v strace >/dev/null || tests/crash/setup.sh

crash: setup crash-setup ## power cuts, kill -9, torn tails, failing disks: the long forms
	$(PYTEST) tests/crash tests/bulk -m "" --timeout 1800

scale: setup ## ten thousand partitions, and how late the event loop is under them: the long forms
	$(BIN)/pytest tests/scale -m slow -s

FUZZ_SECONDS ?= 3600

.venv/.fuzz: $(STAMP) requirements/fuzz.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/fuzz.txt
	@touch $@

fuzz: .venv/.fuzz ## an hour of coverage-guided fuzzing; FUZZ_SECONDS=60 for a short one, FUZZ="frames" for one target
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

# An environment of its own: sslyze wants an older cryptography.
.venv/tls-scan/.installed: $(STAMP) requirements/tls-scan.txt
	$(PYTHON) -m venv .venv/tls-scan
	.venv/tls-scan/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/tls-scan.txt
	@touch $@

.venv/.browser: $(STAMP) requirements/browser.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/browser.txt
	@command -v chromium >/dev/null || tests/outside/setup.sh
	@touch $@

security: setup .venv/tls-scan/.installed .venv/.browser ## the node from outside: a scanner of TLS, a browser on pages of others; timings of refused logins
	$(BIN)/pytest tests/outside tests/sasl/test_timing.py -m slow

load: setup ## crowds, slow readers, bursts, ten thousand partitions beside a steady client; wants an idle machine
	$(BIN)/pytest tests/load -m slow -s

soak: setup ## an hour of mixed load with restarts, judged by itself; SOAK_SECONDS=7200 for a longer one
	$(BIN)/python -m tests.soak

soak-smoke: setup ## five minutes of it: everything is judged but whether memory, files or latency grow
	$(BIN)/python -m tests.soak --smoke --seconds 300

chaos: compat-setup crash-setup ## ten minutes of transactions on a broker that dies; SECONDS=60, SEED=1, TARGET=kafka for a control
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED)) $(if $(TARGET),--target $(TARGET))

# In this order: what fails soonest comes first. Targets that a clone does not have are left out.
NIGHTLY := test-full differential compat compat-suites security crash scale load chaos soak-smoke
nightly: $(filter $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile),$(NIGHTLY)) ## every long suite, then five minutes of soak

bench: compat-setup ## Penstock against Apache Kafka on this machine: about 20 minutes, wants it idle
	$(BIN)/python -m bench --fsync-kafka

bench-quick: setup ## the same work in a minute, Penstock alone
	$(BIN)/python -m bench --penstock-only --rounds 1 --seconds 2 --warm-up 1

bench-clients: compat-setup ## the same with real clients: librdkafka and Kafka's own performance tools
	$(BIN)/python -m bench.clients

bench-age: setup ## produce and fetch at 1,000 segments and 10,000 partitions against a fresh log
	$(BIN)/python -m bench.age

bench-spark: compat-setup ## reading and writing topics in Spark, beside Spark's own connector; GROWTH=1 for 1 to 50 million rows
	$(BIN)/python -m bench.spark $(if $(GROWTH),--growth)

bench-push: setup ## the engine, the push door and the pipe, beside Redis Streams; about ten minutes, wants an idle machine
	@command -v redis-server >/dev/null || bench/push/setup.sh
	$(BIN)/python -m bench.push

bench-security: compat-setup ## TLS, logins and rules, beside Apache Kafka's; BEFORE=path of an earlier tree, ONLY="crowd start"
	@command -v valgrind >/dev/null || bench/security/setup.sh
	$(BIN)/python -m bench.security $(if $(BEFORE),--before $(BEFORE)) $(if $(ONLY),--only $(ONLY))

bench-sustained: setup ## 400,000 messages a second for ten minutes
	$(BIN)/python -m bench.sustained

features: compat-setup ## prove docs/features.md: run the marked tests, write the table
	$(BIN)/python tools/features.py

build: setup ## wheels and sdist into dist/, their contents checked, then `make smoke`
	$(BIN)/python -m tools.packages
	$(BIN)/python -m tools.smoke

smoke: setup ## the wheel of dist/ in an empty environment: it serves, and messages go there and back
	$(BIN)/python -m tools.smoke

docs: setup ## the documentation and the API reference as a site in build/site, for a browser without a network
	$(BIN)/python -m tools.website

clean: ## remove .venv, caches, packages and the site; data and fetched clients stay, unless CONFIRM=1
	@$(PYTHON) tools/clean.py --confirm "$(CONFIRM)"

# What a newcomer types. Each target first does what it needs.
SHELL := /bin/bash
FILTER ?=
SEEDS ?= 10000
CYCLES ?= 100000
SLOW_SECONDS ?= 60
WORDS ?=
# What is optional and needs a library: all of it. One set for every target, since another set is
# another build of everything.
TRAITS ?= Brotli,IDN,PublicSuffixes,Zstd
WITH_TRAITS := $(if $(TRAITS),--traits '$(TRAITS)')
BUILD := swift build $(WITH_TRAITS)
TEST := swift test $(WITH_TRAITS)

.PHONY: setup demo test check lint format bench docs sanitize storm soak faults budget examples journeys \
	compare-curl fuzz clean

# Installs the Debian packages that are absent; says so, and does nothing when all are there.
setup:
	@bash Tests/Support/setup.sh

demo: setup
	$(BUILD) -c release --product Demo
	$(BUILD) -c release --product Benchmarks
	@.build/release/Demo
	@.build/release/Benchmarks echo --quick

# Every test, on every backend: FILTER=ReadQueue for some of them.
test: setup
	$(BUILD) -c release --product echo-server
	$(TEST) $(if $(FILTER),--filter $(FILTER))

lint:
	swift format lint --strict --recursive --parallel Sources Tests Benchmarks Examples Package.swift

check: lint test storm soak examples

format:
	swift format --in-place --recursive --parallel Sources Tests Benchmarks Examples Package.swift

bench:
	swift run $(WITH_TRAITS) -c release Benchmarks echo

docs:
	bash Tests/Support/docs.sh

# Address (with leaks) and thread checks of the whole suite, each in a build folder of its own.
sanitize: setup
	TOWLINE_SLOWDOWN=10 LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/Support/leaks.supp:print_suppressions=0 \
		$(TEST) --sanitize=address --scratch-path .build/address
	TOWLINE_SLOWDOWN=10 TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/Support/threads.supp \
		$(TEST) --sanitize=thread --scratch-path .build/thread

# The targets of what a storm runs; in release the rest takes as long again to build.
STORM_TESTS := SimulationTests,LoopbackTests,TowlineTLSTests,TowlineHTTPClientTests

# SEEDS=N random runs on the simulated network and of damaged handshakes, and what only a release
# build does.
storm: setup
	TOWLINE_TESTS=$(STORM_TESTS) TOWLINE_SEEDS=$(SEEDS) $(TEST) -c release --scratch-path .build/storm \
		-Xswiftc -enable-testing --filter 'SimulationTests|ReleaseBuildTests|DamageTests|ClientStormTests'

# CYCLES=N connections, 100 reactors one after the other, and 10,000 handshakes that fail; each in
# one process, which has to be left as it was.
soak:
	$(BUILD) -c release --product Soak
	.build/release/Soak --cycles $(CYCLES)
	.build/release/Soak --reactors 100
	.build/release/Soak --handshakes 10000
	.build/release/Soak --exchanges 10000
	.build/release/Soak --mebibytes 1024

# SECONDS_EACH=N: how long each harness of Tests/Fuzz is given whatever libFuzzer makes up.
fuzz: setup
	@bash Tests/Fuzz/fuzz.sh

# The same with system calls that the kernel is made to refuse.
faults: setup
	$(BUILD) -c release --product Soak
	python3 Tests/Support/faults.py

# What an echo, secured or not, a connection and an idle server cost, each figure beside its budget.
budget: setup
	$(BUILD) -c release --product echo-server
	$(BUILD) -c release --product line-chat
	$(BUILD) -c release --product async-echo
	$(BUILD) -c release --product Benchmarks
	python3 Tests/Support/budget.py

# The example servers with real counterparts: socat and whatever else setup.sh installs.
examples: setup
	$(BUILD) -c release --product echo-server
	$(BUILD) -c release --product line-chat
	$(BUILD) -c release --product port-forwarder
	$(BUILD) -c release --product tls-probe
	$(BUILD) -c release --product mail-submit
	$(BUILD) -c release --product raw-http
	$(BUILD) -c release --product name-by-http
	python3 Tests/Support/examples.py

# What Docs/Journeys.md promises, with thousands of clients and gigabytes; SLOW_SECONDS=210 for 10 GiB.
journeys: setup
	$(BUILD) -c release --product echo-server
	$(BUILD) -c release --product line-chat
	$(BUILD) -c release --product port-forwarder
	SLOW_SECONDS=$(SLOW_SECONDS) python3 Tests/Support/journeys.py

# The same command lines with curl and with fetch, on the same servers: WORDS=tls for some of them.
compare-curl: setup
	$(BUILD) -c release --product fetch
	python3 Tests/Support/compare_curl.py .build/release/fetch $(WORDS)

clean:
	rm -rf .build

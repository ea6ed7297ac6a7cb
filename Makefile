# The commands of the project. Each sets up what it needs first; see scripts/ for what they do.
#   make         builds; the command is then build/verbena
#   make demo    two unmodified RDMA programs on two emulated nodes, clean and under packet loss
#   make install PREFIX=/usr/local DESTDIR=   the command, its libraries, scenarios and pages; make uninstall takes them away
#   make package Debian packages in build/package, from the release build
#   make tarball the command for any x86-64 Linux with glibc 2.31 or later, in build/portable
#   make test    every test, as CI runs them; STAGES=changed: what your changes need, in about three minutes (BASE=COMMIT: since then)
#   make soak    random scenarios with all checkers for SOAK_SECONDS (600), from SOAK_FIRST_SEED (new ones each time) on
#   make conformance  runs the rdma-core project's test suite on emulated nodes and writes docs/conformance.md
#   make interop  programs between Verbena and the kernel's rxe in an emulated machine; writes docs/interop.md (half an hour)
#   make test-systems  UCX, libfabric, fio and other systems on emulated nodes, under faults; writes docs/systems.md
#   make test-distributions  the tarball with the programs of Debian 11, 12, 13 and unstable; writes docs/distributions.md; needs root
#   make test-ci  what packaging/ci has for GitHub, GitLab, Docker and Kubernetes, carried out in a Debian 12; needs root
#   make test-arm64  the command for arm64, cross-compiled, and the tests of wire and NIC on an emulated processor
#   make site    the documentation as a site in build/site; SOURCE_URL=...: where its links to source files lead
#   make bench   the benchmark table, each figure beside its limit and its peer; QUICK=1: the rows that matter most, in two minutes;
#                COMPARE=FILE: beside what an earlier run has left in build/bench/DATE-COMMIT.json
SHELL := /bin/bash
.DEFAULT_GOAL := build
.PHONY: build setup install uninstall package tarball demo test soak conformance interop test-systems test-distributions test-ci test-arm64 bench site format tidy clean

setup:
	@scripts/setup.sh build

build: setup
	@scripts/build.sh release product

PREFIX ?= /usr/local
DESTDIR ?=
install: build
	@scripts/install.sh install '$(PREFIX)' '$(DESTDIR)'

package: setup
	@scripts/setup.sh package
	@scripts/build.sh release product
	@scripts/package.sh

tarball: setup
	@scripts/setup.sh tarball
	@packaging/tarball/make.sh

uninstall:
	@scripts/install.sh uninstall '$(PREFIX)' '$(DESTDIR)'

demo: setup
	@scripts/setup.sh demo
	@scripts/build.sh release product
	@build/verbena demo --out demo

test:
	@BASE='$(BASE)' scripts/test.sh $(STAGES)

SOAK_SECONDS ?= 600
SOAK_FIRST_SEED ?= $(shell date +%s)000
soak: build
	@build/verbena run --random --for $(SOAK_SECONDS) --seeds $(SOAK_FIRST_SEED)..$$(($(SOAK_FIRST_SEED) + 999999))

conformance: setup
	@scripts/setup.sh test
	@scripts/build.sh release product
	@/usr/bin/python3 tests/conformance/conformance.py --verbena build/verbena --write docs/conformance.md

interop: setup
	@scripts/setup.sh interop
	@scripts/build.sh release product
	@/usr/bin/python3 tests/interop/interop.py --verbena build/verbena --kernel build/interop/kernel --write docs/interop.md

test-systems: setup
	@scripts/setup.sh systems
	@scripts/build.sh release product
	@/usr/bin/python3 tests/systems/systems.py --verbena build/verbena --write docs/systems.md $(SYSTEMS_ARGS)
	@/usr/bin/python3 tests/systems/hosts/hosts.py --verbena build/verbena

test-distributions: setup
	@scripts/setup.sh distributions
	@scripts/build.sh release product
	@scripts/package.sh
	@packaging/tarball/make.sh
	@/usr/bin/python3 -B tests/distributions/distributions.py --write docs/distributions.md

test-ci: setup
	@scripts/setup.sh distributions ci
	@scripts/build.sh release product
	@scripts/package.sh
	@packaging/tarball/make.sh
	@/usr/bin/python3 -B packaging/ci/real.py

test-arm64: setup
	@scripts/setup.sh arm64
	@packaging/arm64/test.sh

bench: setup
	@scripts/setup.sh bench
	@scripts/build.sh release benchmarks
	@/usr/bin/python3 bench/bench.py $(if $(QUICK),--quick) $(if $(COMPARE),--compare '$(COMPARE)') $(BENCH_ARGS)

SOURCE_URL ?=
site:
	@scripts/setup.sh site
	@SOURCE_URL='$(SOURCE_URL)' /usr/bin/python3 -B -m mkdocs build --quiet --clean
	@echo 'build/site/index.html'

format:
	@scripts/setup.sh test
	@scripts/format.sh write

tidy:
	@scripts/setup.sh build test
	@scripts/build.sh tidy --configure-only
	@scripts/clang_tidy.py

clean:
	rm -rf build demo

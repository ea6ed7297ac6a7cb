#!/usr/bin/env bash
# Every test of the project, in stages. A stage that fails does not stop the others; the table at the end says how each
# went, and the exit status is 0 only when all passed.
#   scripts/test.sh [STAGE...]      all of them when none is named
set -uo pipefail
cd "$(dirname "$0")/.."

all_stages=(format release core style instructions programs python package interop systems fuzz asan tsan tidy leftovers)
jobs="$(nproc)"

ctest_of() { ctest --test-dir "$1" --output-on-failure --no-tests=error "${@:2}"; }

stage_format()   { scripts/format.sh check; }
stage_release()  { scripts/build.sh release; }
stage_core()     { ctest_of build -L core -j "$jobs"; }
stage_style()    { ctest_of build -L style; }
stage_instructions() { ctest_of build -L instructions; }
stage_programs() { ctest_of build -L programs -j "$jobs"; }  # each says how many processors it needs
# Two workers, as users have them: their fabrics must not meet. pytest's own folder is emptied by the next run.
stage_python() {
  /usr/bin/python3 -B -m pytest -p no:cacheprovider -q -n 2 --basetemp build/python --durations 5 python/tests
}
stage_package()  { scripts/setup.sh package && ctest_of build -L package -j "$jobs"; }
# Alone, and with a set-up of its own: who cannot have an emulated machine still has all other stages.
stage_interop() {
  scripts/setup.sh interop &&
    /usr/bin/python3 -B tests/interop/interop.py --verbena build/verbena --kernel build/interop/kernel --short
}
stage_systems() {
  scripts/setup.sh systems-short && /usr/bin/python3 -B tests/systems/systems.py --verbena build/verbena --short &&
    /usr/bin/python3 -B tests/systems/hosts/hosts.py --verbena build/verbena
}
stage_fuzz()     { scripts/build.sh fuzz fuzzers && ctest_of build/fuzz -L fuzz -j "$jobs"; }
stage_asan()     { scripts/build.sh asan core_tests && ctest_of build/asan -L core -j "$jobs"; }
stage_tsan()     { scripts/build.sh tsan core_tests && ctest_of build/tsan -L core -j "$jobs"; }
stage_tidy()     { scripts/build.sh tidy --configure-only && scripts/clang_tidy.sh; }
stage_leftovers() { /usr/bin/python3 scripts/leftovers.py compare "$before" "$VERBENA_TEST_RUN" "$TMPDIR"; }

stages=("$@")
[[ $# -eq 0 ]] && stages=("${all_stages[@]}")
for stage in "${stages[@]}"; do
  declare -F "stage_$stage" >/dev/null || { echo "test: no stage is called '$stage'; there are ${all_stages[*]}" >&2; exit 2; }
done

scripts/setup.sh build test || exit 1
mkdir -p build

# Every process of this run carries VERBENA_TEST_RUN, and every temporary file belongs in TMPDIR: what is left can be told
# from what others do on the machine.
export VERBENA_TEST_RUN="verbena-test-$$-$(date +%s)"
TMPDIR="$(mktemp -d /tmp/verbena-test.XXXXXX)"
export TMPDIR
export ASAN_OPTIONS="${ASAN_OPTIONS:-abort_on_error=0:detect_leaks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=0:second_deadlock_stack=1}"
before="build/leftovers-before.json"
/usr/bin/python3 scripts/leftovers.py snapshot "$before" "$TMPDIR" || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 143' TERM INT

failed=0
table=""
for stage in "${stages[@]}"; do
  printf '\n==== %s\n' "$stage"
  started=$SECONDS
  if "stage_$stage" </dev/null; then verdict=passed; else verdict=FAILED; failed=1; fi
  table+="$(printf '%-12s %-7s %5d s' "$stage" "$verdict" $((SECONDS - started)))"$'\n'
done

printf '\n==== summary\n%s%-12s %-7s %5d s\n' "$table" total "$([[ $failed -eq 0 ]] && echo passed || echo FAILED)" "$SECONDS"
exit $failed

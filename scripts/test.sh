#!/usr/bin/env bash
# Every test of the project, in stages. A stage that fails does not stop the others; the table at the end says how each
# went, the last line how many tests passed and failed, and the exit status is 0 only when all passed. JUnit files for CI
# services are in build/test-results.
#   scripts/test.sh [STAGE...]      all of them when none is named
# The stage `changed` is none of them: it runs what the changes need, in about three minutes (scripts/changed.py). When nothing was
# there to run, or the time was not enough, its verdict is `nothing` or `partly`, and the exit status 3.
set -uo pipefail
cd "$(dirname "$0")/.."

all_stages=(format release core style instructions programs python package interop systems fuzz asan tsan tidy leftovers)
jobs="$(nproc)"
results="$PWD/build/test-results"

# How long each takes on two processors of 2026, seconds, after its set-up: only to say how much is left.
declare -A usual_seconds=([format]=6 [release]=115 [core]=190 [style]=5 [instructions]=50 [programs]=800 [python]=45 [package]=100
                          [interop]=35 [systems]=145 [fuzz]=80 [asan]=500 [tsan]=150 [tidy]=20 [leftovers]=1 [changed]=150)

# The stages that compile or check much begin from nothing on a new machine. What that adds, seconds.
declare -A cold_seconds=([release]=660 [fuzz]=60 [asan]=400 [tsan]=150 [tidy]=500)
# is_cold STAGE: neither its folder nor the compiler's cache has anything of it.
is_cold() {
  case "$1" in
    release) [[ ! -e build/.ninja_log ]] && ! cache_is_warm ;;
    fuzz | asan | tsan) [[ ! -e build/$1/.ninja_log ]] && ! cache_is_warm ;;
    tidy) [[ ! -s build/clang-tidy-clean ]] ;;
    *) false ;;
  esac
}
cache_is_warm() {
  command -v ccache >/dev/null && (("$(ccache --print-stats 2>/dev/null | awk '$1 == "files_in_cache" { print $2 }')" + 0 > 1000))
}

ctest_of() { ctest --test-dir "$1" --output-on-failure --no-tests=error --output-junit "$results/$stage.xml" "${@:2}"; }

stage_format()   { scripts/format.sh check; }
stage_release()  { scripts/build.sh release; }
stage_core()     { ctest_of build -L core -j "$jobs"; }
stage_style()    { scripts/setup.sh site && ctest_of build -L style; }
stage_instructions() { ctest_of build -L instructions; }
stage_programs() { ctest_of build -L programs -j "$jobs"; }  # each says how many processors it needs
# Two workers, as users have them: their fabrics must not meet. pytest's own folder is emptied by the next run.
stage_python() {
  /usr/bin/python3 -B -m pytest -p no:cacheprovider -q -n 2 --basetemp build/python --durations 5 \
    --junitxml "$results/python.xml" python/tests
}
stage_package()  { scripts/setup.sh package-test && ctest_of build -L package -j "$jobs"; }
# Alone, and with a set-up of its own: who cannot have an emulated machine still has all other stages.
stage_interop() {
  scripts/setup.sh interop &&
    /usr/bin/python3 -B tests/interop/interop.py --verbena build/verbena --kernel build/interop/kernel --short \
      --junit "$results/interop.xml"
}
stage_systems() {
  scripts/setup.sh systems-short || return
  local failed=0
  /usr/bin/python3 -B tests/systems/systems.py --verbena build/verbena --short --junit "$results/systems.xml" || failed=1
  /usr/bin/python3 -B tests/systems/hosts/hosts.py --verbena build/verbena --junit "$results/systems-hosts.xml" || failed=1
  return $failed
}
stage_fuzz()     { scripts/build.sh fuzz fuzzers && ctest_of build/fuzz -L fuzz -j "$jobs"; }
stage_asan()     { scripts/build.sh asan core_tests && ctest_of build/asan -L core -j "$jobs"; }
stage_tsan()     { scripts/build.sh tsan core_tests && ctest_of build/tsan -L core -j "$jobs"; }
stage_tidy()     { scripts/build.sh tidy --configure-only && scripts/clang_tidy.py; }
stage_changed()  { scripts/setup.sh site && /usr/bin/python3 -B scripts/changed.py --results "$results"; }
stage_leftovers() { /usr/bin/python3 scripts/leftovers.py compare "$before" "$VERBENA_TEST_RUN" "$TMPDIR"; }

# What these stages compile and check is begun while others run, whose tests wait for half of their time: at idle priority, and in a
# session whose share is the least, so that it takes what nobody else wants. The first of them ends that, and each then does what
# is left. The stage tells a failure; build/ahead.log has what was printed meanwhile.
ahead_stages=(fuzz asan tsan tidy)
ahead_pid=""
begin_ahead() {
  local commands=() stage
  for stage in "${stages[@]}"; do
    case "$stage" in
      fuzz) commands+=("scripts/build.sh fuzz fuzzers") ;;
      asan | tsan) commands+=("scripts/build.sh $stage core_tests") ;;
      tidy) commands+=("scripts/build.sh tidy --configure-only && scripts/clang_tidy.py") ;;
    esac
  done
  [[ ${#commands[@]} -gt 0 && ${#stages[@]} -gt ${#commands[@]} ]] || return 0
  setsid bash -c 'echo 19 >/proc/self/autogroup; exec chrt --idle 0 bash -c "$0"' "$(printf '%s\n' "${commands[@]}")" \
    </dev/null >build/ahead.log 2>&1 &
  ahead_pid=$!
}
end_ahead() {
  [[ -n "$ahead_pid" ]] || return 0
  # By itself as well: it may not lead its session yet.
  kill -TERM -- "-$ahead_pid" "$ahead_pid" 2>/dev/null
  wait "$ahead_pid" 2>/dev/null
  ahead_pid=""
}

stages=("$@")
[[ $# -eq 0 ]] && stages=("${all_stages[@]}")
for stage in "${stages[@]}"; do
  declare -F "stage_$stage" >/dev/null || { echo "test: no stage is called '$stage'; there are ${all_stages[*]} changed" >&2; exit 2; }
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
trap 'end_ahead; rm -rf "$TMPDIR"' EXIT
trap 'exit 143' TERM INT

# "4 min": whole minutes, of seconds.
minutes() { echo "$((($1 + 30) / 60)) min"; }

cold=()
for stage in "${stages[@]}"; do
  is_cold "$stage" || continue
  cold+=("$stage")
  usual_seconds[$stage]=$((usual_seconds[$stage] + cold_seconds[$stage]))
done
[[ ${#cold[@]} -eq 0 ]] || echo "test: nothing is compiled or checked yet for ${cold[*]}: this run takes longer than the next"

# What the stages from the one with this index on usually take, at the speed that this run has had so far. The release
# build says nothing about that speed: it takes as long as there is to compile.
release_seconds=0
seconds_left() {
  local index usual_done=0 usual_left=0
  for index in "${!stages[@]}"; do
    local usual="${usual_seconds[${stages[index]}]}"
    if ((index >= $1)); then
      ((usual_left += usual))
    elif [[ ${stages[index]} != release ]]; then
      ((usual_done += usual))
    fi
  done
  # A machine is judged by its first minutes; before that it is taken to be as fast as most.
  if ((usual_done >= 120)); then usual_left=$((usual_left * (SECONDS - release_seconds) / usual_done)); fi
  echo "$usual_left"
}

rm -rf "$results"
mkdir -p "$results"
status=0
total=passed
table=""
verdicts=()
for index in "${!stages[@]}"; do
  stage="${stages[index]}"
  printf '\n==== %s (%d of %d; %s so far, about %s left)\n' "$stage" $((index + 1)) ${#stages[@]} \
    "$(minutes $SECONDS)" "$(minutes "$(seconds_left "$index")")"
  started=$SECONDS
  [[ " ${ahead_stages[*]} leftovers " != *" $stage "* ]] || end_ahead
  "stage_$stage" </dev/null
  case "$stage $?" in
    *" 0") verdict=passed ;;
    "changed 3") verdict=nothing ;;
    "changed 4") verdict=partly ;;
    *) verdict=FAILED ;;
  esac
  if [[ $verdict == FAILED ]]; then
    status=1 total=FAILED
  elif [[ $verdict != passed && $status -eq 0 ]]; then
    status=3 total="$verdict"
  fi
  verdicts+=("$stage=$verdict")
  [[ $stage != release ]] || release_seconds=$((SECONDS - started))
  [[ "$stage=$verdict" != release=passed ]] || begin_ahead
  table+="$(printf '%-12s %-7s %5d s' "$stage" "$verdict" $((SECONDS - started)))"$'\n'
done

printf '\n==== summary\n%s%-12s %-7s %5d s\n' "$table" total "$total" "$SECONDS"
/usr/bin/python3 -B scripts/test_totals.py "$results" "${verdicts[@]}"
exit $status

#!/bin/sh
# A rank of HPCC, in a folder of its own with the input beside this script; the first rank's report goes to the output.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp "$here/hpccinf.txt" .
hpcc
if [ -s hpccoutf.txt ]; then grep -E 'PASSED|FAILED|Errors=|errors in|Node\(s\) with error|^Success=' hpccoutf.txt; fi

#!/usr/bin/env bash
# Prints, as Markdown for a job's summary, what `verbena explain --only-problems` says of each capture below a folder, and leaves the whole
# of it beside the capture (CAPTURE.txt). A capture that cannot be read is said to be so, and hides none of the others.
#   explain.sh FOLDER
set -euo pipefail
lines_max=200         # of one capture
octets_max=900000     # of all: a summary holds 1 MiB

[[ $# -eq 1 ]] || { echo "usage: explain.sh FOLDER" >&2; exit 2; }
captures=()
[[ ! -d "$1" ]] || mapfile -t captures < <(find "$1" -type f \( -name '*.pcap' -o -name '*.pcapng' \) | sort)
if [[ ${#captures[@]} -eq 0 ]]; then
  echo "Verbena: no captures in \`$1\`. \`verbena exec --pcap \"\$VERBENA_CAPTURES/NODE.pcapng\"\` leaves one."
  exit 0
fi
written=0
for capture in "${captures[@]}"; do
  verbena explain --only-problems --width 120 "$capture" > "$capture.txt" 2>&1 || echo "(exit status $?)" >> "$capture.txt"
  # A line that begins with ``` would end the fence.
  part="$(printf '### %s\n\n```\n' "${capture#"$1"/}"
          sed -n "s/^\`\`\`/ &/; 1,${lines_max}p" "$capture.txt"
          lines="$(wc -l < "$capture.txt")"
          [[ $lines -le $lines_max ]] || echo "... $((lines - lines_max)) lines more: $(basename "$capture").txt"
          printf '```\n')"
  written=$((written + ${#part}))
  if [[ $written -le $octets_max ]]; then
    printf '%s\n\n' "$part"
  else
    echo "- $(basename "$capture").txt: no room for it here"
  fi
done

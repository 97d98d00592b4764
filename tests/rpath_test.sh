#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No program or library looks for libraries in the current directory: each element of each RPATH
# begins with $ORIGIN or is absolute.
set -euo pipefail
build=$1
checked=0
for file in "$build"/bin/* "$build"/lib/*.so*; do
  [ -f "$file" ] && [ ! -L "$file" ] || continue
  path=$(readelf -d "$file" 2>/dev/null | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p')
  checked=$((checked + 1))
  [ -n "$path" ] || continue
  # A separator at an end, or two in a row, make an empty element.
  case ":$path:" in *::*)
    echo "$file: RPATH [$path] has an empty element, which means the current directory" >&2
    exit 1 ;;
  esac
  IFS=: read -ra elements <<<"$path"
  for element in "${elements[@]}"; do
    case $element in
      '$ORIGIN'*|/*) ;;
      *) echo "$file: RPATH element [$element] depends on the current directory" >&2; exit 1 ;;
    esac
  done
done
[ "$checked" -gt 3 ] || { echo "only $checked files looked at" >&2; exit 1; }
echo "$checked files: every RPATH is absolute or begins with \$ORIGIN"

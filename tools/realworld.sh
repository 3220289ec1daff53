#!/usr/bin/env bash
# Runs the real browser over Debian's git-doc and python3.11-doc, installing them
# when they are missing: tools/realworld.sh [arguments of go test]
# REALWORLD_PAGES narrows the pages; REALWORLD_SCREENSHOTS is a folder for pictures.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
[[ -e /usr/share/doc/git/html/git.html ]] || missing+=(git-doc)
# Their scripts are links into packages of their own; without these, no search.
[[ -e /usr/share/doc/python3.11/html/search.html && -e /usr/share/doc/python3.11/html/_static/jquery.js ]] || missing+=(python3.11-doc)

if ((${#missing[@]} > 0)); then
	if ! command -v apt-get >/dev/null; then
		echo "realworld: ${missing[*]} are packages of Debian 12; without apt-get their folders below /usr/share/doc must come from elsewhere" >&2
		exit 1
	fi
	sudo=()
	if ((EUID != 0)); then
		command -v sudo >/dev/null || { echo "realworld: as root: apt-get install -y ${missing[*]}" >&2; exit 1; }
		sudo=(sudo)
	fi
	echo "realworld: installing ${missing[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	"${sudo[@]}" apt-get -qq update
	"${sudo[@]}" apt-get -qq -y install --no-install-recommends "${missing[@]}" >/dev/null
fi

"${GO:-go}" vet -tags realworld ./internal/realworld
exec "${GO:-go}" test -tags realworld -count=1 -timeout 20m "$@" ./internal/realworld

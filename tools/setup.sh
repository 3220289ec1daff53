#!/usr/bin/env bash
# Installs what building and testing need and what is not there: a Chromium, and
# a C compiler with headers for `go test -race`. Prints nothing when nothing is
# missing. BROWSERFLEET_CHROMIUM names a browser of your own.
set -euo pipefail

# Tests put a folder here that stands for /.
root=${SETUP_ROOT:-}

say() { printf 'setup: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
any() { # any of these is an executable file or in PATH
	local name
	for name in "$@"; do
		if [[ -x $name ]] || { [[ $name != */* ]] && have "$name"; }; then return 0; fi
	done
	return 1
}

check_go() {
	if ! have go; then
		say 'Go is missing. Install Go 1.21 or newer: https://go.dev/dl/ (it fetches the version that go.mod asks for).'
		return 1
	fi
	# GOTOOLCHAIN=local: what is installed counts, and nothing is fetched to ask.
	local version major minor
	version=$(GOTOOLCHAIN=local go env GOVERSION)
	IFS=. read -r major minor _ <<<"${version#go}"
	minor=${minor%%[!0-9]*}
	if [[ $major =~ ^[0-9]+$ && -n $minor ]] && ((major < 1 || (major == 1 && minor < 21))); then
		say "Go $version is too old to fetch a newer one. Install Go 1.21 or newer: https://go.dev/dl/"
		return 1
	fi
}

# snap_stub prints the path of a Chromium that is a snap, or a stub of one.
snap_stub() {
	local name path
	for name in chromium-browser chromium; do
		path=$(command -v "$name" 2>/dev/null) || continue
		if [[ $(readlink -f "$path") == /snap/* || $(readlink -f "$path") == /usr/bin/snap || $path == /snap/* ]] ||
			{ [[ $(head -c 2 "$path" 2>/dev/null | tr -d '\0') == '#!' ]] && grep -q '/snap/bin/chromium' "$path"; }; then
			echo "$path"
			return
		fi
	done
}

id=unknown like=
if [[ -r $root/etc/os-release ]]; then
	# shellcheck disable=SC1091
	id=$(. "$root/etc/os-release" && echo "${ID:-unknown}")
	# shellcheck disable=SC1091
	like=$(. "$root/etc/os-release" && echo "${ID_LIKE:-}")
fi

check_go

missing=()
browser_missing=
if [[ -n ${BROWSERFLEET_CHROMIUM:-} ]]; then
	if [[ ! -f $BROWSERFLEET_CHROMIUM || ! -x $BROWSERFLEET_CHROMIUM ]]; then
		say "BROWSERFLEET_CHROMIUM=$BROWSERFLEET_CHROMIUM is not an executable file. Correct it, or unset it."
		exit 1
	fi
else
	stub=$(snap_stub)
	full=("$root/usr/lib/chromium/chromium" "$root/usr/lib64/chromium-browser/chromium-browser" "$root/opt/google/chrome/chrome" google-chrome-stable google-chrome)
	[[ -n $stub ]] || full+=(chromium chromium-browser)
	shell=("$root/usr/lib/chromium/chromium-headless-shell" chromium-headless-shell chrome-headless-shell headless_shell)
	if [[ $id == debian ]]; then
		any "${shell[@]}" || missing+=(chromium-headless-shell)
		any "${full[@]}" || missing+=(chromium)
	elif ! any "${shell[@]}" "${full[@]}"; then
		browser_missing=1
	fi
fi
any gcc cc || missing+=(gcc)
# The compiler says where its headers are; their folders differ by system.
if any gcc cc && ! "$(command -v gcc || command -v cc)" -E -x c - <<<'#include <stdlib.h>' >/dev/null 2>&1; then
	missing+=(libc6-dev)
elif ! any gcc cc; then
	missing+=(libc6-dev)
fi

if [[ -n $browser_missing ]]; then
	[[ -z ${stub:-} ]] || say "$stub belongs to the Chromium snap, which cannot be used: its confinement hides the debugging pipe and the profile folder."
	say 'No Chromium was found. Install one of these:'
	case "$id $like" in
	*ubuntu*)
		say '  npx @puppeteer/browsers install chrome-headless-shell@stable   then set BROWSERFLEET_CHROMIUM to the path that it prints'
		say '  or Google Chrome from https://www.google.com/chrome/ (google-chrome-stable)'
		say "  (Ubuntu's packages chromium and chromium-browser only install the snap.)" ;;
	*fedora* | *rhel*) say '  sudo dnf install chromium-headless' ; say '  sudo dnf install chromium' ;;
	*arch*) say '  sudo pacman -S chromium' ;;
	*alpine*) say '  apk add chromium' ;;
	*) say '  chrome-headless-shell: npx @puppeteer/browsers install chrome-headless-shell@stable, then set BROWSERFLEET_CHROMIUM to the path that it prints' ;;
	esac
fi

if ((${#missing[@]} == 0)); then
	[[ -z $browser_missing ]]
	exit
fi

if ! have apt-get; then
	case "$id $like" in
	*fedora* | *rhel*) say 'A C compiler is missing (go test -race needs it): sudo dnf install gcc glibc-devel' ;;
	*arch*) say 'A C compiler is missing (go test -race needs it): sudo pacman -S gcc' ;;
	*alpine*) say 'A C compiler is missing (go test -race needs it): apk add gcc musl-dev' ;;
	*) say 'A C compiler with the headers of the C library is missing (go test -race needs it): install gcc or clang.' ;;
	esac
	exit 1
fi

sudo=()
if ((EUID != 0)); then
	if ! have sudo; then
		say "Missing: ${missing[*]}. As root: apt-get update && apt-get install -y ${missing[*]}"
		exit 1
	fi
	sudo=(sudo)
fi
say "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get -qq update
"${sudo[@]}" apt-get -qq -y install --no-install-recommends "${missing[@]}" >/dev/null
say 'done'
[[ -z $browser_missing ]]

# shellcheck shell=bash
# Functions shared by the scripts of this folder and those below it; sourced, not run.

espi_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() {
    printf '%s\n' "$*"
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# The package names in a list in scripts/ that are not installed, one a line.
missing_packages() { # LIST
    local name
    sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$espi_root/scripts/$1" | while read -r name; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || printf '%s\n' "$name"
    done
}

# Installs what a list in scripts/ has and the machine lacks. Touches no network when nothing is missing.
install_packages() { # LOG [LIST]
    local log=$1 list=${2:-packages} missing as_root=()

    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "This is not a Debian system: nothing installed." \
            "Needed are the equivalents of the packages in scripts/$list."
        return 0
    fi
    missing=$(missing_packages "$list" | tr '\n' ' ')
    if [ -z "$missing" ]; then
        [ "$list" != packages ] || say "Packages: all installed."
        return 0
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            die "these packages are missing and installing them needs root or sudo: $missing"
        as_root=(sudo)
    fi
    say "Packages: installing $missing"
    mkdir -p "$(dirname "$log")"
    # shellcheck disable=SC2086 # a list of names
    if ! { "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
            install --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        die "installing packages failed; the whole output is in $log"
    fi
}

# Installs the packages of Slurm, which belong to one test. Their daemons are services of the machine, and tests need
# none of those: nothing is installed where systemd would start them, at the latest with the machine, and elsewhere
# (containers) installing starts nothing.
install_slurm() { # LOG
    [ ! -d /run/systemd/system ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 0
    [ -n "$(missing_packages dev/packages-slurm)" ] || return 0
    (
        policy=/usr/sbin/policy-rc.d
        if [ ! -e "$policy" ]; then
            trap 'rm -f "$policy"' EXIT
            printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
        fi
        install_packages "$1" dev/packages-slurm
    ) || say "Slurm is not installed: its test will be skipped."
}

# Runs a command with its output in a log; shows the log's end when the command fails.
quietly() { # LOG COMMAND...
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        die "failed: $* (the whole output is in $log)"
    fi
}

processors() {
    getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1
}

# Makes configure where it is missing or old, configures BUILD and compiles everything there.
build_tree() { # BUILD CONFIGURE-ARGUMENTS...
    local build=$1
    shift

    [ ! -e "$espi_root/config.status" ] ||
        die "$espi_root was configured in place, which rules out a build elsewhere: run 'make distclean' there first"
    mkdir -p "$build/logs"
    build=$(cd "$build" && pwd)
    if [ ! -e "$espi_root/configure" ] || [ ! -e "$espi_root/Makefile.in" ]; then
        say "Build: making configure"
        quietly "$build/logs/autogen.log" "$espi_root/autogen.sh"
    fi
    if [ ! -e "$build/Makefile" ] || [ "$(cat "$build/logs/arguments" 2>/dev/null)" != "$*" ]; then
        say "Build: configuring in $build"
        (cd "$build" && quietly logs/configure.log "$espi_root/configure" "$@")
        printf '%s' "$*" >"$build/logs/arguments"
    fi
    say "Build: compiling"
    quietly "$build/logs/make.log" make -C "$build" -j"$(processors)"
}

# The value that a variable has in the Makefile of a build.
make_variable() { # BUILD NAME
    sed -n "s/^$2 = //p" "$1/Makefile" | head -n 1
}

# The first build folder that holds a configured tree: $ESPI_BUILD, the folder we are in, _build, _build-tests.
find_build() {
    local dir
    for dir in "${ESPI_BUILD:-}" . "$espi_root/_build" "$espi_root/_build-tests"; do
        if [ -n "$dir" ] && [ -e "$dir/Makefile" ] && grep -q '^PACKAGE = espalier$' "$dir/Makefile"; then
            (cd "$dir" && pwd)
            return 0
        fi
    done
    die "no build found: run scripts/quickstart, or name one with ESPI_BUILD=FOLDER"
}

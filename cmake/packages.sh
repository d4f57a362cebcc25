# packages.sh — which packages of debian-packages.txt are missing, and installing them. Sourced by quickstart and .ci/run.

packages_list=$(dirname "${BASH_SOURCE[0]}")/debian-packages.txt

packages_is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# packages_missing GROUP...: prints the names that are not installed, alternatives as they stand in the list.
packages_missing() {
    local group names reason wanted name
    while read -r group names reason; do
        case " $* " in *" $group "*) ;; *) continue ;; esac
        wanted=$names
        for name in ${names//|/ }; do
            if packages_is_installed "$name"; then wanted=; fi
        done
        if [ -n "$wanted" ]; then printf '%s\n' "$wanted"; fi
    done < <(grep -v '^#' "$packages_list")
}

# packages_choose NAMES...: of each A|B|C the first that the archive knows, or A.
packages_choose() {
    local names name chosen
    for names in "$@"; do
        chosen=${names%%|*}
        for name in ${names//|/ }; do
            if apt-cache show "$name" >/dev/null 2>&1; then chosen=$name; break; fi
        done
        printf '%s\n' "$chosen"
    done
}

# packages_sudo: prints the command that gives root, "" when we are root; fails when there is none.
packages_sudo() {
    if [ "$(id -u)" = 0 ]; then return 0; fi
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then printf 'sudo\n'; return 0; fi
    return 1
}

# packages_install GROUP...: installs what is missing, or says which one command does and fails.
packages_install() {
    local missing chosen root
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "not a Debian or Ubuntu machine: install by hand what $packages_list names, or go on if it is there" >&2
        return 0
    fi
    mapfile -t missing < <(packages_missing "$@")
    if [ ${#missing[@]} = 0 ]; then
        echo "packages: all there"
        return 0
    fi
    if ! root=$(packages_sudo); then
        mapfile -t chosen < <(packages_choose "${missing[@]}")
        printf 'packages are missing and this user cannot install them; run\n\n  apt-get update && apt-get install -y --no-install-recommends %s\n\nas root, then start this again\n' \
            "${chosen[*]}" >&2
        return 1
    fi
    echo "packages missing: ${missing[*]}"
    run $root apt-get update
    mapfile -t chosen < <(packages_choose "${missing[@]}")
    run $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${chosen[@]}"
}

# run COMMAND...: prints a command, then runs it.
run() {
    printf '+ %s\n' "$*"
    "$@"
}

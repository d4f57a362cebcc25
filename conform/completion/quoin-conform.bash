# Completion of quoin-conform for bash. The options as in `quoin-conform --help`; tests/install/check_manual.py holds the two against
# each other.

_quoin_conform_options='--device --option --profile --level --filter --seed --repro --bench --compare --fail-if-slower --report --coverage --list --waivers --numeric --mask --workers --timeout --quick --in-process --json --quiet --verbose --help --version -q -v -h'

# Values of an option that takes one of a few words; an empty line when it takes anything else.
_quoin_conform_values() {
    case $1 in
        --profile) echo 'decode-core-0 protocol-0 none' ;;
        --numeric) echo 'f32acc f16acc act8' ;;
        --mask) echo 'c avx2 avxvnni avx512 avx512vnni neon dotprod native' ;;
        --level) echo '0 1 2 3 4 5 6 7' ;;
        --repro | --filter) quoin-conform --list 2>/dev/null | sed -n 's/^  .* //p' ;;
    esac
}

_quoin_conform() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} values
    COMPREPLY=()
    values=$(_quoin_conform_values "$previous")
    if [ -n "$values" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$_quoin_conform_options" -- "$current")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current"; [ "$COMP_CWORD" -eq 1 ] && compgen -W reference -- "$current")
    fi
}

complete -F _quoin_conform quoin-conform

# Completion of quoin for bash. One line a command: its own options as in `quoin COMMAND --help`; tests/install/check_manual.py holds
# the two against each other. Files and folders are completed where an option takes one.

_quoin_options_common='--json --quiet --verbose --help --config --threads --backend --plugin --plugin-dir --probe-timeout --no-probe-speed --verify-backend -q -v -h -t -b'
_quoin_options_engine='--ctx --numeric --kv --companion --assume --strict --no-weight-check --integrity --keep-panels --chunk --layers-on --adapter -c'
_quoin_options_governed='--governed --explain --intent --frame --profile --scope'
_quoin_options_sampling='--temp --top-k --top-p --min-p --repeat-penalty --repeat-last --seed --logit-bias'

_quoin_options() {
    case $1 in
        convert) echo '--output --companion --no-companion --layout --weights --page-log2 --extended --force --check --base --no-check -o' ;;
        verify) echo '--companion --strict --level --check-all --memory --flat --no-weight-check' ;;
        inspect) echo '--companion --strict --tensors --full --explain --check-all --flat' ;;
        run) echo "--prompt --prompt-file --prompt-tokens --special --no-bos --chat --template --system --max-tokens --deadline" \
            "--logprobs --drafts --grammar --json-schema --sieve --graph --facts --near --show-prompt --sentinel --observe --events" \
            "--events-file --prove --key --passphrase-file --unsigned --mac-key --store-prompt --agent --principal -p -f -n -k" \
            "$_quoin_options_governed $_quoin_options_engine $_quoin_options_sampling" ;;
        observe) echo '--abort-on --reason' ;;
        prove)
            echo '--output --source --url --licence --spdx --licence-url --permits --consent --profile --key --passphrase-file' \
                '--sign-consent --companion --time --force --strict -o -k -f'
            ;;
        check)
            echo '--volume --source --trusted-keys --revoked --certificates --log --generation --replay --prompt --context --mac-key' \
                '--require --require-signature --strict --companion -p'
            ;;
        certify)
            echo '--output --tokens --seed --numeric --quick --conform --companion --key --passphrase-file --force -o -n -k -f'
            ;;
        chat) echo "--system --template --max-tokens -s -n $_quoin_options_engine $_quoin_options_sampling" ;;
        tokenize) echo '--text --file --no-bos --special --pieces --companion --assume -f' ;;
        backends) echo '--explain --rescan' ;;
        compact) echo '--output --in-place --journal --rewrite --commons --segment-size --memory --strict --dry-run --force -o' ;;
        journal)
            echo '--statement --tier --actor --profile --privacy --volume --output --commons --memory --force --strict -s -o'
            ;;
        migrate) echo '--output --dry-run --flat --force --memory -o' ;;
        publish) echo '--output --web-seed --reference-magnet --base --strict --force -o' ;;
        vault) echo '--shallow' ;;
        key) echo '--passphrase-file --mac --list --reason' ;;
        wal)
            echo '--key --passphrase-file --unsigned --trusted --revoked --withdraw --records --quins --review --volume --keep --rotate --memory' \
                '--strict -k'
            ;;
        rules) echo '--shapes --rules --closed --derived --depth --max-facts -s -r' ;;
        perplexity) echo "--file --windows -f $_quoin_options_engine" ;;
        bench) echo "--prompt-length --decode-length --depth --repeat --text --compare --profile -p -n -d -r $_quoin_options_engine" ;;
        query)
            echo '--prefix --where --select --distinct --limit --offset --count --exists --format --explain --terms --strict -p -w -s -n -c -f'
            ;;
        export) echo '--output --force --lossy --unsorted --memory --terms --strict -o' ;;
        stats) echo '--top --memory --terms --strict' ;;
        diff) echo '--brief --lossy --memory --strict' ;;
        ingest)
            echo '--output --format --graph --base --tier --commons --sanctuary --segment-size --memory --jobs --reject --long-literals' \
                '--terms --keep-duplicates --force -o -g -m -j -f'
            ;;
        merge) echo '--output --force --segment-size --memory --strict -o' ;;
    esac
}

# Values of an option of a command that takes one of a few words; an empty line when it takes anything else.
_quoin_values() {
    case $1 in
        --events) echo 'json none' ;;
        --terms) echo 'auto surface bare token' ;;
        --format) echo 'nquads jsonl tsv table nt nq ttl trig' ;;
        --permits) echo 'local-inference commercial derivatives redistribution' ;;
        --numeric) echo 'auto f32acc act8' ;;
        --kv) echo 'auto f16 bf16 f32' ;;
        --integrity) echo 'full lazy' ;;
        --assume) echo 'llama' ;;
        --base) [ "$2" = publish ] && echo 'base32 base58 hex' ;;
        --long-literals) echo 'refuse reject' ;;
        --privacy) echo 'sanctuary restricted commons' ;;
        --layout) echo 'packed panel plain auto' ;;
        --weights) echo 'keep q4_k_soa f16 ffn-q4_0 ffn-ternary' ;;
        --template)
            echo 'chatml llama2 llama3 gemma mistral-v1 mistral-v3 mistral-tekken mistral-v7 mistral-v7-tekken phi3 phi4 phi4-mini zephyr' ;;
        --backend | -b) echo 'auto cpu reference' ;;
    esac
}

_quoin() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'convert verify inspect run chat tokenize backends bench perplexity compact journal migrate publish vault wal key rules observe prove check certify query export stats diff merge ingest --help --version' -- "$current")
        return
    fi
    local values
    values=$(_quoin_values "$previous" "$command")
    if [ -n "$values" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [ "$previous" = --plugin-dir ]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_quoin_options "$command") $_quoin_options_common" -- "$current")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -F _quoin quoin

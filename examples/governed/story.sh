#!/bin/sh
# story.sh — answers that can be proved: facts in, a model, gates, a log, and a check of each answer.
#
#     examples/governed/story.sh QUOIN MODEL FOLDER
#
# QUOIN is the program, MODEL a GGUF file (examples/models/quoin-tiny.gguf), FOLDER an empty one for everything that is made. What it prints
# stands in README.md; ids, digests and times are shown as ID, DIGEST and TIME, since keys are made anew each time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
quoin=$(realpath "$1")
model=$(realpath "$2")
mkdir -p "$3"
cd "$3"

# Only what is the same each time: no memory, no speed, no sensors.
tidy() {
    sed -e "s|$model|MODEL|g" | grep -v -e '^memory:' -e '^using ' -e '^thermal:' -e ' prompt tokens in ' -e '^note:' -e '^this model has' |
        sed -e 's/[0-9a-f]\{64\}/DIGEST/g' -e 's/[0-9a-f]\{16\}/ID/g' -e 's/20[0-9-]*T[0-9:]*Z/TIME/g' -e 's/record [0-9][0-9]*/record N/g' \
            -e 's/^ *[0-9]*  TIME/N  TIME/'
}

# Shows a command, what it says, and how it ends.
show() {
    echo "\$ quoin $*" | tidy
    status=0
    "$quoin" "$@" >out.txt 2>&1 || status=$?
    tidy <out.txt || true
    echo "-> $status"
    echo
}

ask() {
    show run model.p64 --governed harbour.ini --backend reference --prompt "$@"
}

record() {
    sed -n 's/^recorded as urn:qualia:gen:sha256:\([0-9a-f]*\)$/\1/p' out.txt
}

check() {
    show check model.p64 --source "$model" --trusted-keys trusted.keys --require 4 --require-signature --log log --generation "$1"
}

echo "# 1. keys, facts, a model with its provenance"
cp "$here"/*.ttl "$here"/*.ini "$here"/*.sieve "$here"/*.gbnf .
for name in assistant ana bo; do
    "$quoin" key new $name.key >/dev/null 2>&1
    "$quoin" key show $name.key 2>/dev/null | sed -n "s/.*\(ed25519:[0-9a-f]*\).*/\1 did:example:$name/p" >>trusted.keys
done
show ingest harbour.ttl -o harbour.q42 --graph http://harbour.example/ --quiet
show ingest crew.ttl -o crew.q42 --graph http://harbour.example/crew --tier 3 --sanctuary --quiet
show convert "$model" -o model.p64 --quiet
echo "Everybody may run this model." >licence.txt
show prove model.p64 --source "$model" --profile full --licence licence.txt --permits local-inference --key assistant.key --quiet

echo "# 2. what the policy would ask"
"$quoin" run --governed harbour.ini --explain | grep -v '^ ' | sed 's/  */ /g'
echo

echo "# 3. a cited answer"
ask "Who is the skipper of the Petrel?" --graph harbour.q42 --facts 4 --grammar cite.gbnf
check "$(record)"

echo "# 4. a statement that is a fact: committed"
ask "Who is the skipper of the Petrel?" --sieve skipper.sieve --facts 1
check "$(record)"

echo "# 5. a refused one: the crew's volume is a Sanctuary"
ask "What is Ana allergic to?" --scope http://harbour.example/crew -n 8

echo "# 6. a contradicted one: somebody has to look"
ask "Who is the skipper of the Petrel?" --sieve wrong.sieve --facts 1
check "$(record)"
show wal show log --review

echo "# 7. a suspended one, which two signers release"
ask "Who keeps the pier?" --sieve keeper.sieve --facts 1
generation=$(record)
agreement=$(sed -n 's/.*agreement \([0-9a-f]\{16\}\) waits.*/\1/p' out.txt)
show wal consent log "$agreement" --key ana.key --trusted trusted.keys
show wal consent log "$agreement" --key bo.key --trusted trusted.keys
check "$generation"
show wal verify log --trusted trusted.keys

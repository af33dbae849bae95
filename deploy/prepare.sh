# shellcheck shell=bash disable=SC2034
# Sourced by ./test and ./quickstart, from the root of the source tree: installs the Debian packages that are missing
# and builds the release preset. Noise goes to build/log; what is being done goes to stderr.

readonly LOG=build/log
readonly BIN=build/release/bin

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$1"
  exit 1
}

# packages <stage>: the names that deploy/debian-packages.txt lists for it.
packages() { sed -n "s/^$1 //p" deploy/debian-packages.txt; }

# missing_packages <stage>...
missing_packages() {
  local name stage
  for name in $(for stage in "$@"; do packages "$stage"; done); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

# install_missing <stage>...
install_missing() {
  if ! command -v dpkg-query >/dev/null; then
    say "Not a Debian system: taking the packages of deploy/debian-packages.txt as installed."
    return
  fi
  local missing
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || fail "Missing packages. As root: apt-get install $missing"
  say "Installing $(wc -w <<<"$missing") Debian packages (log: $LOG/apt.log)"
  # shellcheck disable=SC2086  # a list of words
  { apt-get update && apt-get install -y --no-install-recommends $missing; } \
    </dev/null >"$LOG/apt.log" 2>&1 || { tail -n 20 "$LOG/apt.log" >&2; fail "apt-get failed"; }
}

# Node may come from elsewhere than Debian, whose npm does not go with it then.
has_node() { command -v npm >/dev/null && { command -v node || command -v nodejs; } >/dev/null; }

# On a terminal, shows how far the build is.
show_progress() {
  if [ -t 2 ]; then
    sed -u -n 's/^\(\[[0-9]*\/[0-9]*\]\).*/\1/p' | while read -r step; do
      printf '\r  %s ' "$step" >&2
    done
    printf '\r%24s\r' '' >&2
  else
    cat >/dev/null
  fi
}

# The accountant as WebAssembly is built once this has been; a tree keeps it.
WASM=()
wasm_libraries() {
  local libraries
  command -v dpkg-query >/dev/null || return 0
  say "Building libraries for WebAssembly, once (log: $LOG/wasm.log)"
  if libraries=$(nice wasm/libraries.sh 2>"$LOG/wasm.log"); then
    WASM=(-DDPLEDGER_WASM_LIBRARIES="$libraries")
  else
    tail -n 5 "$LOG/wasm.log" >&2
    say "The accountant as WebAssembly is left out: its libraries cannot be built."
  fi
}

# build_release <target>...
# QUICK_BUILD=ON: in few, little optimised files (CMakeLists.txt). Else warnings are errors, as in CI; a first build
# does not end at a warning that another compiler has.
build_release() {
  local quick=${QUICK_BUILD-OFF} strict=ON
  if [ "$quick" = ON ]; then strict=OFF; fi
  say "Building in build/release (log: $LOG/build.log)"
  { cmake --preset release "${WASM[@]}" -DDPLEDGER_WARNINGS_AS_ERRORS="$strict" -DDPLEDGER_QUICK_BUILD="$quick" &&
    cmake --build --preset release --target "$@"; } \
    2>&1 </dev/null | tee "$LOG/build.log" | show_progress ||
    { tail -n 40 "$LOG/build.log" >&2; fail "The build failed."; }
}

# prepare <target>...: everything that must be there before these can run. PREPARE_STAGES: for more than to compile.
prepare() {
  mkdir -p "$LOG"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # a list of words
  install_missing build $(has_node || echo page) ${PREPARE_STAGES-}
  case " ${PREPARE_STAGES-} " in *" wasm "*) wasm_libraries ;; esac
  build_release "$@"
}

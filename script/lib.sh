# Set-up that ./script/test and ./script/demo share: the system's tools, then a virtual environment from a lock file.
# Source it with the repository as the working directory. Nothing is done twice: when nothing changed, it takes
# a fraction of a second.
# shellcheck shell=bash

VENV=${CORRAL_VENV:-.venv}

say() {
  if [[ -t 2 && -z ${NO_COLOR:-} ]]; then printf '\033[1m==>\033[0m %s\n' "$*" >&2; else printf '==> %s\n' "$*" >&2; fi
}

fail() {
  printf 'error: %s\n' "$1" >&2
  shift
  if (($#)); then printf '       %s\n' "$@" >&2; fi
  exit 1
}

# find_python: the first Python >= 3.11, CORRAL_PYTHON before all others; nothing if there is none.
find_python() {
  local candidate
  for candidate in ${CORRAL_PYTHON:+"$CORRAL_PYTHON"} python3 python3.{14,13,12,11}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
}

package_manager() {
  local candidate
  for candidate in apt-get dnf pacman apk zypper; do
    if command -v "$candidate" >/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

# package_names MANAGER THING…: what this system calls python, venv, tmux, git and libatomic.
package_names() {
  local manager=$1 thing
  shift
  for thing; do
    case $manager/$thing in
      apt-get/venv)
        # Debian splits venv from Python, by version where Python is not the system's own.
        case ${PYTHON:-} in
          "" | /usr/bin/python3) echo python3-venv ;;
          *) "$PYTHON" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])' ;;
        esac
        ;;
      apt-get/libatomic | zypper/libatomic) echo libatomic1 ;;
      pacman/libatomic) echo gcc-libs ;;
      pacman/python | pacman/venv) echo python ;;
      apk/venv) echo py3-pip ;;
      */python | */venv) echo python3 ;;
      *) echo "$thing" ;;
    esac
  done | sort -u
}

# install_packages THING…: through the system's package manager, and not without saying so first.
install_packages() {
  local manager step as_root=
  local -a names command_line refresh=()
  manager=$(package_manager)
  [[ -n $manager ]] || fail "missing: $*" "No package manager that this script knows was found: install them, then run it again."
  mapfile -t names < <(package_names "$manager" "$@")
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "missing: ${names[*]}" "You are not root and there is no sudo: have them installed with $manager, then run this again."
    as_root=sudo
  fi
  case $manager in
    apt-get)
      refresh=(apt-get update -qq)
      command_line=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${names[@]}")
      ;;
    dnf) command_line=(dnf install -y -q "${names[@]}") ;;
    pacman) command_line=(pacman -S --noconfirm --needed "${names[@]}") ;;
    apk) command_line=(apk add --quiet "${names[@]}") ;;
    zypper) command_line=(zypper --non-interactive --quiet install "${names[@]}") ;;
  esac
  say "This machine lacks: $*. Installing with"
  if ((${#refresh[@]})); then printf '      %s\n' "${as_root:+sudo }${refresh[*]}" >&2; fi
  printf '      %s\n' "${as_root:+sudo }${command_line[*]}" >&2
  for step in refresh command_line; do
    local -n words=$step
    # Package managers are talkative; their words matter when they fail.
    if ((${#words[@]})) && ! quietly ${as_root:+"$as_root"} "${words[@]}"; then
      fail "could not install ${names[*]}" "See what ${words[*]} said above, install them by hand, then run this again."
    fi
  done
}

# quietly COMMAND…: show what it printed only if it failed.
quietly() {
  local output status=0
  output=$(mktemp)
  "$@" >"$output" 2>&1 </dev/null || status=$?
  if ((status)); then cat "$output" >&2; fi
  rm -f "$output"
  return "$status"
}

# need_system_tools dev|runtime: sets PYTHON; installs what is missing of Python, venv, tmux and git, and for development
# of what the engine of policies is linked to.
need_system_tools() {
  local kind=$1
  local -a missing=()
  PYTHON=$(find_python)
  if [[ -z $PYTHON ]]; then
    missing+=(python venv)
  elif ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    missing+=(venv)
  fi
  local tool
  for tool in tmux git; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  if [[ $kind == dev ]] && ! "${PYTHON:-false}" -c 'import ctypes; ctypes.CDLL("libatomic.so.1")' 2>/dev/null; then
    missing+=(libatomic)
  fi
  if ((${#missing[@]})); then
    install_packages "${missing[@]}"
    PYTHON=$(find_python)
  fi
  [[ -n $PYTHON ]] || fail "Corral needs Python 3.11 or later; this system offers $(python3 --version 2>&1 || true)" \
    "Install one and name it: CORRAL_PYTHON=/path/to/python3 $0"
  case $(tmux -V) in
    "tmux "[012].* | "tmux 3."[01]*) fail "Corral needs tmux 3.2 or later; this is $(tmux -V)" "Install a newer one." ;;
  esac
}

# fingerprint FILE-OR-DIRECTORY…: changes when their content or the Python of the virtual environment does.
fingerprint() {
  {
    "$PYTHON" -c 'import sys; print(sys.version, sys.executable)'
    find "$@" -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum
  } | sha256sum | cut -d' ' -f1
}

# set_up dev|runtime: a virtual environment that holds exactly what the lock file says, and Corral itself.
#
# dev installs Corral so that the source is what runs; runtime builds it and installs the result, as a user would.
# A dev environment serves the demo as well, and stays one.
set_up() {
  local kind=$1 stamp=$VENV/.corral-set-up lock=requirements.lock have want_dev want_runtime
  need_system_tools "$kind"
  want_dev="dev $(fingerprint requirements-dev.lock pyproject.toml)"
  want_runtime="runtime $(fingerprint requirements.lock pyproject.toml src)"
  # Two scripts at once must not build the same environment; the lock is on a file that is there anyway.
  exec 9<pyproject.toml
  if command -v flock >/dev/null; then flock 9; fi
  have=$(cat "$stamp" 2>/dev/null || true)
  # A developer's environment stays one, also when the demo finds it out of date: whoever works on Corral must never find
  # a copy where the source used to be.
  if [[ $have == dev\ * ]]; then kind=dev; fi
  if [[ $have == "$want_dev" || ($kind == runtime && $have == "$want_runtime") ]] &&
    "$VENV/bin/python" -c 'import corral' 2>/dev/null; then
    exec 9<&-
    return
  fi

  if [[ $kind == dev ]]; then lock=requirements-dev.lock; fi
  say "Setting up $VENV from $lock ($("$PYTHON" --version), $(tmux -V))"
  rm -f "$stamp"
  if ! "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    # --clear empties the directory, so it must be an environment and nothing else.
    [[ ! -e $VENV || -e $VENV/pyvenv.cfg ]] || fail "$VENV exists and is no virtual environment" "Move it away, or set CORRAL_VENV."
    "$PYTHON" -m venv --clear "$VENV"
  fi
  # Some tools make environments without pip.
  "$VENV/bin/python" -c 'import pip' 2>/dev/null || quietly "$VENV/bin/python" -m ensurepip
  local -a pip=("$VENV/bin/python" -m pip --disable-pip-version-check --no-input --quiet)
  "${pip[@]}" install --require-hashes -r "$lock"
  if [[ $kind == dev ]]; then
    "${pip[@]}" install --no-deps --no-build-isolation --editable .
    echo "$want_dev" >"$stamp"
  else
    local wheels
    wheels=$(mktemp -d)
    "${pip[@]}" wheel --no-deps --no-build-isolation --wheel-dir "$wheels" .
    "${pip[@]}" install --no-deps --force-reinstall "$wheels"/*.whl
    rm -rf "$wheels"
    echo "$want_runtime" >"$stamp"
  fi
  exec 9<&-
}

# Runs `ray start --block` and, where the group has a command, that command beside it. The first of the two that ends, ends the
# container: the other gets SIGTERM and is waited for. Arguments: the number of Ray arguments, these, the command.
#
# Kubernetes expands dollar-parenthesis and a doubled dollar sign in commands, so neither is used here.

ulimit -n 65536 || echo "tandem: the limit of open files stays as it is" >&2

ray_count=$1
shift
ray_args=("${@:1:ray_count}")
shift "$ray_count"

pids=()

# end CODE stops what still runs and exits.
end() {
  trap '' TERM INT
  if ((${#pids[@]} > 0)); then kill -TERM "${pids[@]}" 2>/dev/null; fi
  wait
  exit "$1"
}
trap 'end 143' TERM INT

ray start "${ray_args[@]}" --block &
pids+=($!)
if (($# > 0)); then
  "$@" &
  pids+=($!)
fi

wait -n "${pids[@]}"
code=$?

ended="ray start"
if kill -0 "${pids[0]}" 2>/dev/null; then ended=$1; fi
echo "tandem: $ended ended with exit code $code" >&2

# Heads and workers serve until the run is over and they are told to stop. One that leaves before that has failed whatever its
# code says; with code 0 a Job would count it as a success and the rest of the run would wait for it for ever.
if ((code == 0)); then
  echo "tandem: the run has not ended, so this counts as a failure" >&2
  code=1
fi
end "$code"

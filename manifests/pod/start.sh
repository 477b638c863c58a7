# Runs the group's setup script, then `ray start --block` and, where the group has a command, that command beside it as soon as Ray answers. The first of the two that
# ends, ends the container: the other gets SIGTERM and some time to stop. Arguments: the port of Ray's dashboard agent, how many seconds
# Ray has to answer there, the group's setup script, the number of Ray arguments, these, the command.
#
# Kubernetes expands dollar-parenthesis and a doubled dollar sign in commands, so neither is used here.

ulimit -n 65536 2>/dev/null || echo "tandem: the limit of open files stays as it is" >&2

agent_port=$1 ready_seconds=$2 setup=$3 ray_count=$4
shift 4
ray_args=("${@:1:ray_count}")
shift "$ray_count"

exec {ended}<> <(:) # a pipe on which jobs report their end; `wait -n` misses a job that ends before it is called
groups=()

# run NAME COMMAND... starts a job that reports "CODE NAME". Its shell outlives SIGTERM to report how the command took it.
run() {
  set -m # the job is a process group, so that a signal reaches all of it
  { trap : TERM; "${@:2}"; echo "$? $1" >&"$ended"; } &
  set +m # the group stays, bash's notices about it would go into the log
  groups+=("-$!")
}

# end CODE stops what still runs and exits. What has not stopped in time is killed with the container. A job is over when it has
# reported, or when its group is gone: reports that were read before are counted, and inside a trap bash does not always reap.
reported=0
end() {
  trap '' TERM INT
  local deadline
  ((deadline = SECONDS + ${TANDEM_STOP_SECONDS:-20}))
  kill -TERM -- "${groups[@]}" 2>/dev/null
  while ((reported < ${#groups[@]})) && kill -0 -- "${groups[@]}" 2>/dev/null; do
    if read -r -t 0.1 -u "$ended"; then ((++reported)); fi
    if ((SECONDS >= deadline)); then
      echo "tandem: not stopped within ${TANDEM_STOP_SECONDS:-20} s, and killed with the container" >&2
      break
    fi
  done
  exit "$1"
}
trap 'end 143' TERM INT

# report MESSAGE tells the run through the registry sidecar why it fails, before anything else can fail because of it. The sidecar
# keeps the first message. Without one, or when it does not answer in time, the exit code has to do.
report() {
  local LC_ALL=C address=${TANDEM_REGISTRY#http://} registry # bytes are counted, not letters
  exec {registry}<>"/dev/tcp/${address%:*}/${address##*:}" || return
  printf 'POST /v1/fail HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "${#1}" "$1" >&"$registry"
  read -r -t 5 -u "$registry"
}

# ray_answers asks this node's dashboard agent what the probes of workers ask it: the raylet lives, and the GCS knows it. Before that
# `ray.init` fails, or starts a Ray of its own. (`ray health-check` asks the GCS alone, and starts a Python each time.)
ray_answers() {
  local agent status=
  { exec {agent}<>"/dev/tcp/127.0.0.1/$agent_port"; } 2>/dev/null || return # refused while Ray starts, which is no news
  printf 'GET /api/local_raylet_healthz HTTP/1.0\r\n\r\n' >&"$agent"
  read -r -t 5 -u "$agent" status
  exec {agent}>&-
  [[ $status == "HTTP/1."[01]" 200 "* ]]
}

# await_end [SECONDS] waits for the first job that ends; $said is which and how. It fails when that takes longer. Without a limit too
# it reads for a second at a time: a signal that arrives just before a read begins does not interrupt it. A read may run out of time in the
# middle of a line, and what it had read of it counts.
partial=
await_end() {
  local part
  until read -r -t "${1:-1}" -u "$ended" part; do
    partial+=$part
    if (($# > 0)); then return 1; fi
  done
  partial+=$part
  code=${partial%% *} name=${partial#* } partial=
  ((++reported))
  said="$name ended with exit code $code"
}

# await_ray COMMAND waits until Ray answers. It fails when Ray ends before that, and when the time is up; then $said is why.
await_ray() {
  local deadline
  ((deadline = SECONDS + ready_seconds))
  until ray_answers; do
    if await_end 0.25; then return 1; fi
    if ((SECONDS >= deadline)); then
      code=1 name=$1
      said="$1 was not started: Ray did not answer on port $agent_port within $ready_seconds s (startupGrace)"
      return 1
    fi
  done
}

# The setup script may export variables, and add to ray_args. It may leave by exit, too.
if [[ -n $setup ]]; then
  trap 'code=$?; echo "tandem: the setup script left with exit code $code" >&2; if ((code == 0)); then code=1; fi; exit "$code"' EXIT
  eval "$setup"
  code=$?
  set +eux +o pipefail # what it set is for itself
  trap - EXIT
  if ((code != 0)); then
    said="the setup script failed with exit code $code"
    echo "tandem: $said" >&2
    if [[ -n $TANDEM_REGISTRY ]]; then report "pod $POD_NAME: $said" || echo "tandem: the registry sidecar cannot be told" >&2; fi
    exit "$code"
  fi
fi

run "ray start" ray start "${ray_args[@]}" --block
if (($# == 0)); then
  await_end
elif await_ray "$1"; then
  run "$1" "$@"
  await_end
fi
echo "tandem: $said" >&2

# Heads and workers serve until the run is over and they are told to stop. One that leaves before that has failed whatever its
# code says; with code 0 a Job would count it as a success and the rest of the run would wait for it for ever.
if ((code == 0)); then
  echo "tandem: the run has not ended, so this counts as a failure" >&2
  code=1
fi
# A worker's Ray leaves when its head does: then the head has the news.
if [[ -n $TANDEM_REGISTRY && ($name != "ray start" || ${ray_args[0]} == --head) ]]; then
  report "pod $POD_NAME: $said" || echo "tandem: the registry sidecar cannot be told" >&2
fi
end "$code"

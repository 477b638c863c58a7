# Submits the driver's command as a Ray job, follows it, and ends with its exit code. Arguments: HOST:PORT of the head's dashboard, the
# job's id, the number of variables that the driver gets, their names, the command. Their values are in this script's environment.
#
# Kubernetes expands dollar-parenthesis and a doubled dollar sign in commands, so neither is used here.

dashboard=$1 id=$2 count=$3
shift 3

# The variables go by `env` into the command and not by Ray's runtime_env: Ray refuses a driver whose ray.init names a variable that its
# job's runtime_env names too, as NeMo-RL's does with every variable it has.
command=()
if ((count > 0)); then command=(env); fi
for name in "${@:1:count}"; do command+=("$name=${!name}"); done
shift "$count"
command+=("$@")

# quote WORD makes of it in $quoted what Ray turns into WORD again. `ray job submit` joins its arguments by Python's list2cmdline, whose
# rules are those of Windows: a word with blanks gets double quotes, a double quote gets a backslash, and backslashes before one (or
# at the end of a word with blanks) are doubled. The head then gives the line to `sh -c`.
quote() {
  local LC_ALL=C rest=$1 special=$'$`|&;<>()\'*?[]#~!{}^' newline=$'\'\n\'' doubled='^\\+"' c # bytes, not letters
  if [[ -z $1 || $1 == *[$' \t']* ]]; then special=$'$`' newline=$'\n' doubled='^\\+("|$)'; fi
  quoted=
  while [[ -n $rest ]]; do
    c=${rest:0:1}
    if [[ $rest =~ $doubled ]]; then
      c=${BASH_REMATCH[0]%\"}
      quoted+=$c
    elif [[ $c == $'\n' ]]; then
      quoted+=$newline
    elif [[ $c == \\ || $special == *"$c"* ]]; then
      quoted+=\\$c
    else
      quoted+=$c
    fi
    rest=${rest:${#c}}
  done
}

line=()
for word in "${command[@]}"; do
  quote "$word"
  line+=("$quoted")
done

# As process 1 this shell would ignore SIGTERM, and its child would never hear of it.
trap 'if [[ -n $! ]]; then kill -TERM "$!" 2>/dev/null; wait; fi; exit 143' TERM INT
ray job submit --address "http://$dashboard" --submission-id "$id" -- "${line[@]}" &
wait "$!"
code=$?

# describe reads into $answer what the head knows of the job. `ray job submit` exits 1 for a job that failed, whatever its exit code, and
# 0 for one that was stopped.
describe() {
  local head token=
  if [[ -n $RAY_AUTH_TOKEN ]]; then token="Authorization: Bearer $RAY_AUTH_TOKEN"$'\r\n'; fi
  exec {head}<>"/dev/tcp/${dashboard%:*}/${dashboard##*:}" || return
  printf 'GET /api/jobs/%s HTTP/1.0\r\n%s\r\n' "$id" "$token" >&"$head"
  read -r -t 10 -d '' -u "$head" answer # fails at the end of the answer, which is what it reads to
  [[ $answer == "HTTP/1."[01]" 200 "* ]]
}

if ! describe; then
  echo "tandem: the head does not say how the job ended; the exit code is that of \`ray job submit\`" >&2
elif [[ $answer =~ \"status\":\ *\"STOPPED\" ]]; then
  echo "tandem: the job was stopped, so the run has failed" >&2
  code=1
elif ((code != 0)) && [[ $answer =~ \"driver_exit_code\":\ *(-?[1-9][0-9]*) ]]; then
  code=${BASH_REMATCH[1]}
  if ((code < 0)); then ((code = 128 - code)); fi # Python's number for a signal
fi

# A driver often fails because something else has. Where that is started again, it must be the first to be seen to have failed.
if ((code != 0)) && [[ -n $TANDEM_HOLD_SECONDS ]]; then
  echo "tandem: exit code $code is kept for $TANDEM_HOLD_SECONDS s, in which what made the driver fail may be seen to have failed" >&2
  exec {never}<> <(:)
  for ((i = 0; i < TANDEM_HOLD_SECONDS; i++)); do read -r -t 1 -u "$never"; done
fi
exit "$code"

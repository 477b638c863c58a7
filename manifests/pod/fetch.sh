# Fetches one commit of a git repository into a folder. Arguments: URL, commit, folder. An access token for an https URL is in
# TANDEM_GIT_TOKEN; it goes by git's configuration in the environment, so that it is in no command line and in no file.
#
# Kubernetes expands dollar-parenthesis and a doubled dollar sign in commands, so neither is used here.
set -eu

url=$1 commit=$2 folder=$3
if [ -n "${TANDEM_GIT_TOKEN:-}" ]; then
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=credential.helper
  export GIT_CONFIG_VALUE_0='!f() { echo username=git; echo "password=$TANDEM_GIT_TOKEN"; }; f'
fi
export GIT_TERMINAL_PROMPT=0
cd "$folder"
git init -q .
git remote add origin "$url" 2>/dev/null || git remote set-url origin "$url" # the container may be started again
git fetch -q --depth 1 origin "$commit"
git -c advice.detachedHead=false checkout -q --force FETCH_HEAD
echo "tandem: the code is $commit of $url"

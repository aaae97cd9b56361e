#!/bin/sh
# Makes DIR a repository of its own in which a commit of the one around TOP is checked out, with the commits and tags of
# its history: the base of nsgate check --base-ref, of bisect, and of .github/base.
#
# sh checkout.sh TOP COMMIT DIR [-c SETTING]
#
# Code of the change can have run around TOP before. git index-pack computes the names of all objects anew, because
# others may stand under them there. No filter, attribute, hook, graft or other setting of TOP counts; addresses of
# submodules and of origin are taken along. A filter of the user's own configuration runs where the commit names it;
# attributes, line ends and hooks of that configuration do not count. SETTING is one more of git around TOP, such as
# safe.directory.
set -eu
top=$1 commit=$2 dir=$3 setting=${5:-core.quotePath=false}
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null GIT_NO_LAZY_FETCH=1 GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 \
  GIT_ATTR_NOSYSTEM=1
from() {
  GIT_ALLOW_PROTOCOL=none git -C "$top" -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.commitGraph=false \
    -c safe.bareRepository=explicit -c advice.graftFileDeprecated=false -c "$setting" "$@"
}
to() {
  git -C "$dir" -c core.fsmonitor=false -c core.hooksPath=/dev/null -c advice.graftFileDeprecated=false \
    -c core.attributesFile=/dev/null -c core.autocrlf=false -c core.eol=lf -c core.symlinks=true "$@"
}
fail() { echo "$1" >&2; exit 1; }

format=sha1
if [ "${#commit}" -gt 40 ]; then format=sha256; fi
tags=$(from for-each-ref "--merged=$commit" '--format=%(objectname) %(refname)' refs/tags)
git init --quiet --template= "--object-format=$format" "$dir"
{
  from rev-list --objects --no-object-names --no-walk "$commit"
  from rev-list "$commit"
  if [ -n "$tags" ]; then echo "$tags" | cut -d ' ' -f 1; fi
} | from pack-objects --quiet --stdout | to index-pack --stdin >/dev/null
if [ -n "$tags" ]; then echo "$tags" >"$dir/.git/packed-refs"; fi
if [ "$(from rev-parse --is-shallow-repository)" = true ]; then
  from rev-list --max-parents=0 "$commit" >"$dir/.git/shallow"
fi
if ! { to rev-list --objects --no-walk --quiet "$commit" && to rev-list "$commit" >/dev/null; }; then
  fail "objects of the checkout are not those of $commit; check it out again"
fi

to config lfs.storage "$(from rev-parse --path-format=absolute --git-common-dir)/lfs"
from config --null --get-regexp '^(submodule\..*|remote\.origin|lfs)\.url$' | DIR=$dir xargs -0 -r -n 1 sh -c '
  key=$(printf "%s" "$1" | head -n 1)
  git -C "$DIR" config "$key" "${1#"$key"?}"' sh
to -c advice.detachedHead=false checkout --quiet --detach "$commit"

# Git LFS takes files from where the checkout has them, whatever they hold.
GIT_LITERAL_PATHSPECS=0 to ls-files -z -- ':(attr:filter=lfs)' | DIR=$dir xargs -0 -r sh -c '
  cd "$DIR"
  for file; do
    if [ -L "$file" ] || git cat-file blob ":./$file" | cmp -s - "$file"; then continue; fi
    want=$(git cat-file blob ":./$file" | head -c 1024 | sed -n "s/^oid sha256://p")
    case $(sha256sum <"$file") in "${want:-none} "*) ;; *) exit 1 ;; esac
  done' sh || fail "a file of Git LFS is not that of $commit: remove .git/lfs"
if [ -e "$dir/.gitmodules" ]; then to -c submodule.active=. submodule --quiet update --recursive; fi

import { shellQuoted } from '../../platform/shell-quoted.ts'

/** Address of the git proxy inside a sandbox; its host exists only there. */
export const gitProxyHost = 'git.switchyard.internal'
export const gitProxyUrl = `http://${gitProxyHost}`

/** What a script of git reports, by name. */
export type Reports = ReadonlyMap<string, readonly string[]>

/**
 * Returns a bash script with the given variables. `g` runs git without hooks, filters and settings of the machine, and
 * only over the proxy. `report NAME VALUE` writes a line that `reportsIn` reads.
 */
export function gitScript(nonce: string, variables: Readonly<Record<string, string>>, body: string): string {
  return [
    'set -u',
    ...Object.entries(variables).map(([name, value]) => `${name}=${shellQuoted(value)}`),
    'export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_LFS_SKIP_SMUDGE=1',
    'export GIT_ASKPASS=/bin/true LC_ALL=C.UTF-8',
    `report() { printf '%s %s %s\\n' ${shellQuoted(nonce)} "$1" "$2"; }`,
    'fail() { report problem "$1"; exit 1; }',
    `g() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 -c maintenance.auto=false \\
      -c protocol.allow=never -c protocol.http.allow=always -c "url.${gitProxyUrl}/.insteadOf=$origin/" \\
      -c advice.detachedHead=false "$@"; }`,
    'command -v git >/dev/null || fail "git is not installed in the sandbox of this server; install it in /usr/bin"',
    body,
  ].join('\n')
}

/** Reads the reports in the output of a script. The nonce keeps texts of a remote from looking like one. */
export function reportsIn(output: string, nonce: string): Reports {
  const reports = new Map<string, string[]>()
  for (const line of output.split('\n')) {
    if (!line.startsWith(`${nonce} `)) continue
    const [name = '', ...words] = line.slice(nonce.length + 1).split(' ')
    reports.set(name, [...(reports.get(name) ?? []), words.join(' ')])
  }
  return reports
}

/**
 * Deletes an incomplete clone with the files that it has written. `.git/switchyard-checkout` has the commit whose files
 * were written to a workspace that was empty before.
 */
const cleanup = `cleanup() {
  [ -e .git/switchyard-clone ] && [ ! -e .git/switchyard-ready ] || return 0
  if [ -s .git/switchyard-checkout ]; then
    started=$(cat .git/switchyard-checkout)
    g ls-tree -r -z --name-only "$started" | xargs -0 -r rm -rf --
    g ls-tree -r -d -z --name-only "$started" | sort -rz | xargs -0 -r rmdir --ignore-fail-on-non-empty -- 2>/dev/null
  fi
  rm -rf .git
}`

/** Variables: `origin`. */
export const cleanupScript = `${cleanup}\ncleanup`

/** Finds the commit and fetches it alone. Sets `commit` and `base`. */
const fetchBase = `fetch_base() {
  heads=$(g ls-remote --symref "$url" HEAD "refs/heads/$ref" "refs/tags/$ref") || exit 1
  default=$(printf '%s\\n' "$heads" | awk '$1 == "ref:" && $3 == "HEAD" { sub("^refs/heads/", "", $2); print $2; exit }')
  has() { printf '%s\\n' "$heads" | awk -v name="$1" '$2 == name { found = 1 } END { exit !found }'; }
  base=$default
  if [ -z "$ref" ]; then
    [ -n "$default" ] || fail "the repository is empty, or has no default branch; set environment.ref"
    source=refs/heads/$default
  elif has "refs/heads/$ref"; then source=refs/heads/$ref base=$ref
  elif has "refs/tags/$ref"; then source=refs/tags/$ref
  elif [[ $ref =~ ^[0-9a-f]{40}([0-9a-f]{24})?$ ]]; then source=$ref
  else fail "environment.ref $ref is no branch, tag or full commit id of the repository"
  fi
  g fetch -q --depth 1 --no-tags --no-recurse-submodules origin "+$source:refs/switchyard/base" || exit 1
  commit=$(g rev-parse -q --verify 'refs/switchyard/base^{commit}') || fail "environment.ref $ref is not a commit"
  [ -z "$base" ] || [ "$source" != "refs/heads/$base" ] || g update-ref "refs/remotes/origin/$base" "$commit"
}`

/** Settings of the clone; none is secret. */
const begin = `begin_clone() {
  g init -q --template= -b "$branch" . && : > .git/switchyard-clone || fail "cannot create .git in the workspace"
  mkdir -p .git/info && printf '%s' "$exclude" > .git/info/exclude
  g remote add origin "$url"
  g config user.name "$author_name"; g config user.email "$author_email"
  g config push.default current
  g config "url.${gitProxyUrl}/.insteadOf" "$origin/"
}`

/**
 * Clones into the workspace. Variables: `origin`, `url`, `ref`, `branch`, `exclude`, `author_name`, `author_email`.
 * Reports `present`, or `commit`, `base` and the submodules as `module NAME.url VALUE` and `module NAME.path VALUE`.
 */
export const cloneScript = `${cleanup}
${fetchBase}
${begin}
cleanup
if [ -e .git/switchyard-ready ]; then
  { read -r commit; read -r base; } < .git/switchyard-ready
  if [ "$(g symbolic-ref -q --short HEAD)" != "$branch" ] && g cat-file -e 'HEAD^{tree}' 2>/dev/null; then
    g checkout -q -B "$branch" || exit 1
  fi
  report present "$commit"; report base "$base"; exit 0
fi
[ ! -e .git ] || fail "the workspace already contains another git repository"
[ -n "$(ls -A)" ] || empty=1
begin_clone
fetch_base
[ -z "\${empty:-}" ] || printf '%s\\n' "$commit" > .git/switchyard-checkout
g checkout -q -B "$branch" "$commit" -- || exit 1
report commit "$commit"; report base "$base"
[ ! -f .gitmodules ] || [ -L .gitmodules ] || g config -f .gitmodules --get-regexp '^submodule\\..*\\.(url|path)$' |
  while read -r key value; do report module "\${key#submodule.} $value"; done
exit 0`

/** Marks the clone as complete, after it has fetched the submodules. Variables: `origin`, `commit`, `base`, `paths`. */
export const completeScript = `while IFS= read -r path; do
  [ -n "$path" ] || continue
  g submodule -q update --init --depth 1 -- "$path" || exit 1
  g -C "$path" config "url.${gitProxyUrl}/.insteadOf" "$origin/"
done <<< "$paths"
printf '%s\\n%s\\n' "$commit" "$base" > .git/switchyard-ready
rm -f .git/switchyard-checkout
report ready 1`

/**
 * Checks a clone of an earlier run, whose objects may be missing after the session has moved: checkpoints exclude large
 * files. Fetches the commit again then; the files stay as they are, and differ from it by the work of the session.
 * Variables as for `cloneScript`. Reports `repaired`.
 */
export const checkScript = `${fetchBase}
${begin}
[ -e .git/switchyard-ready ] || exit 0
g cat-file -e 'HEAD^{tree}' 2>/dev/null && exit 0
rm -rf .git && begin_clone
saved=$ref; ref=$branch
if g ls-remote --exit-code -q "$url" "refs/heads/$branch" >/dev/null; then fetch_base; else ref=$saved; fetch_base; fi
g update-ref "refs/heads/$branch" "$commit" && g symbolic-ref HEAD "refs/heads/$branch" && g reset -q --mixed || exit 1
printf '%s\\n%s\\n' "$base_commit" "$base_branch" > .git/switchyard-ready
report repaired "$commit"`

/**
 * Commits all changes and pushes them to the session's branch. Variables: `origin`, `url`, `branch`, `base_commit`,
 * `proposed`, `message`. Reports `unchanged`, or `pushed` with the commit.
 */
export const publishScript = `[ -d .git ] && g rev-parse -q --verify HEAD >/dev/null || { report unchanged 1; exit 0; }
g add -A -- . || exit 1
g diff --cached --quiet HEAD || g commit -q --no-verify -m "$message" || exit 1
commit=$(g rev-parse HEAD)
if [ "$commit" = "$proposed" ] || g diff --quiet "$base_commit" HEAD 2>/dev/null; then report unchanged 1; exit 0; fi
g push -q "$url" "+HEAD:refs/heads/$branch" || exit 1
report pushed "$commit"`

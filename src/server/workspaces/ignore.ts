import { withoutTrailing } from '../platform/trailing.ts'

/** The file of a workspace that lists what its checkpoints ignore, in the syntax of `.gitignore`. */
export const ignoreFile = '.switchyardignore'

/** Maximum number of bytes read from that file. */
export const maxIgnoreBytes = 64 * 1024
const maxRules = 200
const maxRuleLength = 200

/** Files that can be installed or generated again; the service itself writes `.switchyard`. The last pattern matches temporary files left by a crash. */
const defaults = [
  'node_modules/',
  '.venv/',
  '__pycache__/',
  '.cache/',
  '.npm/',
  '.pnpm-store/',
  '.gradle/',
  '.mypy_cache/',
  '.pytest_cache/',
  '.ruff_cache/',
  '.tox/',
  '.switchyard/',
  '.draft-????????????????',
]

export interface IgnoreRules {
  /** True when the rules ignore the path. The caller must not descend into an ignored folder. */
  ignores(path: string, isFolder: boolean): boolean
  /** Why a part of the file is not applied; undefined when all of it is. */
  readonly problem: string | undefined
}

/** Returns the built-in rules followed by those of the workspace's own file; the last matching rule decides. */
export function ignoreRules(text: string): IgnoreRules {
  const lines = text.split('\n').map(line => withoutSpaces(line.replace(/\r$/, '')))
  const own = lines.filter(line => line !== '' && !line.startsWith('#'))
  const fitting = own.filter(({ length }) => length <= maxRuleLength).slice(0, maxRules)
  const rules = [...defaults, ...fitting].flatMap(line => ruleOf(line) ?? [])
  return {
    ignores(path, isFolder) {
      const names = path.split('/').map(name => [...name])
      return rules.findLast(rule => (isFolder || !rule.foldersOnly) && fits(rule.names, names))?.isIgnoring ?? false
    },
    problem:
      fitting.length < own.length
        ? `only its first ${maxRules} rules of at most ${maxRuleLength} characters each are applied`
        : undefined,
  }
}

/** Returns the line without the spaces at its end; an escaped one stays. */
function withoutSpaces(line: string): string {
  const plain = withoutTrailing(line, ' ')
  return plain.endsWith('\\') && plain.length < line.length ? `${plain} ` : plain
}

interface Rule {
  readonly isIgnoring: boolean
  readonly foldersOnly: boolean
  readonly names: readonly NamePattern[]
}

type Character = string | { readonly in: string; readonly negated: boolean } | 'any'
type NamePattern = '**' | readonly (readonly ['star'] | readonly ['one', Character])[]

function ruleOf(line: string): Rule | undefined {
  const isIgnoring = !line.startsWith('!')
  const body = line.slice(isIgnoring ? 0 : 1)
  const foldersOnly = body.endsWith('/')
  const parts = body.replace(/\/$/, '').split('/')
  const isAnchored = parts.length > 1
  const names = parts.filter((name, at) => name !== '' || at > 0).map(name => (name === '**' ? name : tokensOf(name)))
  if (names.length === 0) return undefined
  return { isIgnoring, foldersOnly, names: isAnchored ? names : ['**', ...names] }
}

function tokensOf(name: string): NamePattern {
  const characters = [...name]
  const tokens: (readonly ['star'] | readonly ['one', Character])[] = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? ''
    const end = character === '[' ? characters.indexOf(']', at + 2) : -1
    if (end > 0) {
      tokens.push(['one', setOf(characters.slice(at + 1, end))])
      at = end
    } else if (character === '*') tokens.push(['star'])
    else if (character === '?') tokens.push(['one', 'any'])
    else if (character === '\\' && at + 1 < characters.length) tokens.push(['one', characters[++at] ?? ''])
    else tokens.push(['one', character])
  }
  return tokens
}

/** Expands `[a-c]` into its characters; only ASCII ranges are expanded. */
function setOf(inside: readonly string[]): Character {
  const negated = inside[0] === '!' || inside[0] === '^'
  const text = inside.slice(negated ? 1 : 0).join('')
  const all = text.replaceAll(/([\x20-\x7e])-([\x20-\x7e])/g, (_, first: string, last: string) => {
    const count = Math.max(0, last.charCodeAt(0) - first.charCodeAt(0) + 1)
    return Array.from({ length: count }, (_, n) => String.fromCharCode(first.charCodeAt(0) + n)).join('')
  })
  return { in: all, negated }
}

const fits = (pattern: readonly NamePattern[], names: readonly (readonly string[])[]): boolean =>
  wildcard(pattern, names, {
    isStar: name => name === '**',
    fits: (name, found) => name !== '**' && fitsName(name, found),
  })

const fitsName = (pattern: Exclude<NamePattern, '**'>, name: readonly string[]): boolean =>
  wildcard(pattern, name, {
    isStar: ([kind]) => kind === 'star',
    fits: (token, character) => token[0] === 'one' && fitsCharacter(token[1], character),
  })

function fitsCharacter(wanted: Character, character: string): boolean {
  if (typeof wanted === 'object') return wanted.in.includes(character) !== wanted.negated
  return wanted === 'any' || wanted === character
}

interface Matching<P, T> {
  readonly isStar: (part: P) => boolean
  readonly fits: (part: P, item: T) => boolean
}

/**
 * Matches a list against a pattern with stars. Backtracks only to the last star: at most pattern length × list length
 * steps.
 */
function wildcard<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  { isStar, fits: fitsOne }: Matching<P, T>,
): boolean {
  let at = 0
  let star: { readonly pattern: number; item: number } | undefined
  for (let item = 0; item < items.length; ) {
    const part = pattern[at]
    if (part !== undefined && isStar(part)) star = { pattern: at++, item }
    else if (part !== undefined && fitsOne(part, items[item] as T)) {
      at++
      item++
    } else if (star) {
      at = star.pattern + 1
      item = ++star.item
    } else return false
  }
  return pattern.slice(at).every(isStar)
}

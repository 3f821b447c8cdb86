import { invalid } from '../platform/errors.ts'

type Range = readonly [first: number, last: number]

/** Matches one character: a code point, `any` except the slash, or a set. */
export type CharacterTest = number | 'any' | { readonly ranges: readonly Range[]; readonly negated: boolean }

/**
 * A step of the automaton. `name` loops on all characters except the slash, and `deep` on all; both also continue to
 * the next step. `skip` consumes no character and continues to the next step and to the one `over` steps further on.
 */
export type Step =
  | { readonly kind: 'one'; readonly test: CharacterTest }
  | { readonly kind: 'name' | 'deep' }
  | { readonly kind: 'skip'; readonly over: number }
  | { readonly kind: 'end' }

const slash: Step = { kind: 'one', test: 47 }
const maxAlternatives = 64
/** Limits the size of a set of states, and so the work per character. */
const maxSteps = 4_096

/**
 * Returns the steps of every alternative of a pattern, one list per alternative. `*` and `?` stay within one name, `**`
 * is any number of folders, `[a-z]` and `[!a-z]` are sets, `{a,b}` are alternatives, a backslash escapes the next
 * character. Errors: `invalid_request` for a pattern with too many alternatives.
 */
export function globSteps(pattern: string): Step[][] {
  const alternatives = expandBraces(pattern).map(stepsOf)
  const size = alternatives.reduce((sum, steps) => sum + steps.length, 0)
  if (size > maxSteps) throw invalid(`pattern: its alternatives have ${size} characters in total, limit ${maxSteps}`)
  return alternatives
}

function stepsOf(pattern: string): Step[] {
  // Consecutive `**` are equivalent to one.
  const names = pattern.split('/').filter((name, at, all) => name !== '**' || all[at - 1] !== '**')
  const steps: Step[] = []
  for (const [at, name] of names.entries()) {
    const isLast = at === names.length - 1
    if (name !== '**') {
      steps.push(...tokensOf(name))
      if (!isLast && !(names[at + 1] === '**' && at + 2 === names.length)) steps.push(slash)
    } else if (!isLast) {
      steps.push({ kind: 'skip', over: 3 }, { kind: 'deep' }, slash)
    } else if (at > 0) {
      steps.push({ kind: 'skip', over: 3 }, slash, { kind: 'deep' })
    } else {
      steps.push({ kind: 'deep' })
    }
  }
  return [...steps, { kind: 'end' }]
}

function tokensOf(name: string): Step[] {
  const characters = [...name]
  const tokens: Step[] = []
  for (let at = 0; at < characters.length; at++) {
    const { token, end } = setAt(characters, at) ?? plainAt(characters, at)
    // Consecutive stars are equivalent to one.
    if (token.kind !== 'name' || tokens.at(-1)?.kind !== 'name') tokens.push(token)
    at = end
  }
  return tokens
}

interface Read {
  readonly token: Step
  /** Index of its last character. */
  readonly end: number
}

function plainAt(characters: readonly string[], at: number): Read {
  const character = characters[at]
  if (character === '*') return { token: { kind: 'name' }, end: at }
  if (character === '?') return { token: { kind: 'one', test: 'any' }, end: at }
  const end = character === '\\' && at + 1 < characters.length ? at + 1 : at
  return { token: { kind: 'one', test: codeOf(characters[end]) }, end }
}

const codeOf = (character = ''): number => character.codePointAt(0) ?? 0

/** Returns the set at `start`; undefined when there is none or it is not closed: the bracket is then literal. */
function setAt(characters: readonly string[], start: number): Read | undefined {
  if (characters[start] !== '[') return undefined
  const negated = characters[start + 1] === '!' || characters[start + 1] === '^'
  const from = start + (negated ? 2 : 1)
  // A bracket directly at the start belongs to the set.
  const end = characters.indexOf(']', from + 1)
  if (end < 0) return undefined
  const ranges: Range[] = []
  for (let at = from; at < end; at++) {
    const isRange = characters[at + 1] === '-' && at + 2 < end
    const first = codeOf(characters[at])
    ranges.push([first, isRange ? codeOf(characters[at + 2]) : first])
    if (isRange) at += 2
  }
  return { token: { kind: 'one', test: { ranges, negated } }, end }
}

/** Returns all patterns without braces that the pattern expands to. */
function expandBraces(pattern: string): string[] {
  const finished: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = innermostGroup(next)
    if (group) open.push(...group)
    else finished.push(next)
    if (open.length + finished.length > maxAlternatives) {
      throw invalid(`pattern: more than ${maxAlternatives} alternatives`)
    }
  }
  return finished
}

/** Expands one group without nested groups into one pattern per part; undefined when there is no group. */
function innermostGroup(pattern: string): string[] | undefined {
  const end = pattern.indexOf('}')
  const start = pattern.lastIndexOf('{', end)
  if (end < 0 || start < 0) return undefined
  const [before, after] = [pattern.slice(0, start), pattern.slice(end + 1)]
  const parts = pattern.slice(start + 1, end).split(',')
  return [...new Set(parts)].map(part => `${before}${part}${after}`)
}

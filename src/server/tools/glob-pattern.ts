import { invalid } from '../platform/errors.ts'

type Token = '*' | '?' | { readonly literal: string } | { readonly ranges: readonly Range[]; readonly negated: boolean }
type Range = readonly [first: string, last: string]

const mostAlternatives = 64

/**
 * True for the paths that the pattern names. `*` and `?` stay within one name, `**` is any number of folders, `[a-z]`
 * and `[!a-z]` are sets, `{a,b}` are alternatives, a backslash takes the next character as it is. No regular
 * expression is made: the time grows with the product of the two lengths at most.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  const alternatives = expandBraces(pattern).map(alternative =>
    alternative.split('/').map(name => (name === '**' ? ('**' as const) : tokensOf(name))),
  )
  return path => {
    const names = path.split('/')
    return alternatives.some(steps =>
      matches(steps, names, {
        isMany: step => step === '**',
        fits: (step, name) => step !== '**' && fitsName(step, name),
      }),
    )
  }
}

interface Rules<Step, Item> {
  /** True for a step that takes any number of items. */
  readonly isMany: (step: Step) => boolean
  readonly fits: (step: Step, item: Item) => boolean
}

/** Greedy match that goes back to the last open-ended step only, which is enough and never explodes. */
function matches<Step, Item>(
  steps: readonly Step[],
  items: readonly Item[],
  { isMany, fits }: Rules<Step, Item>,
): boolean {
  let step = 0
  let item = 0
  let many = -1
  let manyItem = 0
  while (item < items.length) {
    const now = steps[step]
    if (now !== undefined && isMany(now)) {
      many = step++
      manyItem = item
    } else if (now !== undefined && fits(now, items[item] as Item)) {
      step++
      item++
    } else if (many >= 0) {
      step = many + 1
      item = ++manyItem
    } else {
      return false
    }
  }
  return steps.slice(step).every(isMany)
}

const fitsName = (tokens: readonly Token[], name: string): boolean =>
  matches(tokens, [...name], { isMany: token => token === '*', fits: fitsCharacter })

function fitsCharacter(token: Token, character: string): boolean {
  if (token === '*' || token === '?') return true
  if ('literal' in token) return token.literal === character
  return token.ranges.some(([first, last]) => first <= character && character <= last) !== token.negated
}

function tokensOf(name: string): Token[] {
  const characters = [...name]
  const tokens: Token[] = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? ''
    const set = character === '[' ? setAt(characters, at) : undefined
    if (set) {
      tokens.push(set.token)
      at = set.end
    } else if (character === '*' || character === '?') {
      tokens.push(character)
    } else if (character === '\\' && at + 1 < characters.length) {
      tokens.push({ literal: characters[++at] ?? '' })
    } else {
      tokens.push({ literal: character })
    }
  }
  return tokens
}

/** The set that begins at `[`; undefined when it is not closed, so that the bracket stands for itself. */
function setAt(characters: readonly string[], start: number): { token: Token; end: number } | undefined {
  const negated = characters[start + 1] === '!' || characters[start + 1] === '^'
  const from = start + (negated ? 2 : 1)
  // A bracket right at the start belongs to the set.
  const end = characters.indexOf(']', from + 1)
  if (end < 0) return undefined
  const ranges: Range[] = []
  for (let at = from; at < end; at++) {
    const first = characters[at] ?? ''
    const last = characters[at + 2]
    if (characters[at + 1] === '-' && at + 2 < end && last !== undefined) {
      ranges.push([first, last])
      at += 2
    } else {
      ranges.push([first, first])
    }
  }
  return { token: { ranges, negated }, end }
}

/** All patterns without braces that the pattern stands for. */
function expandBraces(pattern: string): string[] {
  const finished: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = innermostGroup(next)
    if (group) open.push(...group)
    else finished.push(next)
    if (open.length + finished.length > mostAlternatives) {
      throw invalid(`pattern: more than ${mostAlternatives} alternatives`)
    }
  }
  return finished
}

/** The pattern once for each part of a group that holds no other group; undefined when there is none. */
function innermostGroup(pattern: string): string[] | undefined {
  const end = pattern.indexOf('}')
  const start = pattern.lastIndexOf('{', end)
  if (end < 0 || start < 0) return undefined
  const [before, after] = [pattern.slice(0, start), pattern.slice(end + 1)]
  return pattern
    .slice(start + 1, end)
    .split(',')
    .map(part => `${before}${part}${after}`)
}

import type { ToolCall } from './view.ts'

/** A change of a file by a tool call. */
export interface FileEdit {
  readonly path: string
  /** The text that is replaced; undefined when the call writes the whole file. */
  readonly before: string | undefined
  readonly after: string
  readonly isForEachMatch: boolean
}

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Returns the changes that a call of `edit` or `write` asks for, in their order; empty for other calls. */
export function editsOf({ name, server, input }: Pick<ToolCall, 'name' | 'server' | 'input'>): FileEdit[] {
  if (server !== undefined) return []
  const fields = recordOf(input)
  const path = textIn(fields, 'file_path') ?? textIn(fields, 'path')
  if (path === undefined) return []
  if (name === 'write') {
    const after = textIn(fields, 'content')
    return after === undefined ? [] : [{ path, before: undefined, after, isForEachMatch: false }]
  }
  if (name !== 'edit') return []
  const { edits } = fields
  return (Array.isArray(edits) ? edits : [fields]).flatMap(edit => editOf(path, recordOf(edit)))
}

function editOf(path: string, fields: Fields): FileEdit[] {
  const before = textIn(fields, 'old_string')
  const after = textIn(fields, 'new_string')
  if (before === undefined || after === undefined) return []
  return [{ path, before, after, isForEachMatch: fields['replace_all'] === true }]
}

type Fields = Readonly<Record<string, unknown>>

const recordOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' ? value : undefined
}

/** Number of compared pairs of lines up to which the lines are aligned; beyond it all lines are replaced. */
const maxPairs = 1_000_000

/** Returns an edit as lines: those that stay, those that go and those that come, in reading order. */
export function diffLines({ before, after }: Pick<FileEdit, 'before' | 'after'>): DiffLine[] {
  const old = before === undefined ? [] : linesOf(before)
  const next = linesOf(after)
  const start = equalCount(old, next, (list, at) => list[at])
  const rest = [old.slice(start), next.slice(start)] as const
  const end = equalCount(...rest, (list, at) => list[list.length - 1 - at])
  const changed = [rest[0].slice(0, rest[0].length - end), rest[1].slice(0, rest[1].length - end)] as const
  return [
    ...old.slice(0, start).map(text => lineOf('same', text)),
    ...alignedLines(...changed),
    ...old.slice(old.length - end).map(text => lineOf('same', text)),
  ]
}

const lineOf = (kind: DiffLine['kind'], text: string): DiffLine => ({ kind, text })

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

type Lines = readonly string[]

/** Number of equal lines, one by one, that `read` returns of both lists. */
function equalCount(a: Lines, b: Lines, read: (list: Lines, at: number) => string | undefined): number {
  const shorter = Math.min(a.length, b.length)
  let count = 0
  while (count < shorter && read(a, count) === read(b, count)) count += 1
  return count
}

function alignedLines(old: Lines, next: Lines): DiffLine[] {
  if (old.length * next.length > maxPairs) {
    return [...old.map(text => lineOf('removed', text)), ...next.map(text => lineOf('added', text))]
  }
  const common = commonCounts(old, next)
  const lines: DiffLine[] = []
  let [a, b] = [0, 0]
  for (;;) {
    const [from, to] = [old[a], next[b]]
    if (from === undefined && to === undefined) return lines
    const kind = kindOf(from, to, () => common(a + 1, b) >= common(a, b + 1))
    lines.push(lineOf(kind, (kind === 'added' ? to : from) ?? ''))
    if (kind !== 'added') a += 1
    if (kind !== 'removed') b += 1
  }
}

function kindOf(from: string | undefined, to: string | undefined, isRemovedFirst: () => boolean): DiffLine['kind'] {
  if (from === to) return 'same'
  if (from === undefined) return 'added'
  return to === undefined || isRemovedFirst() ? 'removed' : 'added'
}

/** Returns the length of the longest common sequence of the lines from two places on. */
function commonCounts(old: Lines, next: Lines): (a: number, b: number) => number {
  const width = next.length + 1
  const counts = new Uint32Array((old.length + 1) * width)
  const at = (a: number, b: number): number => counts[a * width + b] ?? 0
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = next.length - 1; b >= 0; b--) {
      counts[a * width + b] = old[a] === next[b] ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1))
    }
  }
  return at
}

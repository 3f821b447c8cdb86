import { type DiffLine, everyLine } from '../platform/line-diff.ts'

const context = 3

/** Returns a unified diff of two texts; empty when they are equal. */
export function unifiedPatch(path: string, before: string | undefined, after: string | undefined): string {
  const lines = everyLine(linesOf(before), linesOf(after))
  const changes = lines.flatMap(({ op }, at) => (op === 'same' ? [] : [at]))
  if (changes.length === 0) return ''
  const hunks = ranges(changes, lines.length).map(range => hunkOf(lines, range))
  const head = [
    `--- ${before === undefined ? '/dev/null' : `a/${path}`}`,
    `+++ ${after === undefined ? '/dev/null' : `b/${path}`}`,
  ]
  return [...head, ...hunks.flat(), ''].join('\n')
}

/** Splits a text into lines with their line breaks, which the last line may lack. */
const linesOf = (text = ''): string[] => (text === '' ? [] : text.split(/(?<=\n)/))

type Range = readonly [from: number, to: number]

/** Returns the ranges of lines around changes; overlapping ranges are merged. */
function ranges(changes: readonly number[], length: number): Range[] {
  const found: [number, number][] = []
  for (const at of changes) {
    const [from, to] = [Math.max(0, at - context), Math.min(length, at + context + 1)]
    const last = found.at(-1)
    if (last && from <= last[1]) last[1] = to
    else found.push([from, to])
  }
  return found
}

const marks = { same: ' ', removed: '-', added: '+' } as const

function hunkOf(lines: readonly DiffLine[], [from, to]: Range): string[] {
  const count = (of: readonly DiffLine[], without: DiffLine['op']) => of.filter(({ op }) => op !== without).length
  const [head, body] = [lines.slice(0, from), lines.slice(from, to)]
  const side = (without: DiffLine['op']) => {
    const size = count(body, without)
    return `${count(head, without) + (size === 0 ? 0 : 1)},${size}`
  }
  return [`@@ -${side('added')} +${side('removed')} @@`, ...body.flatMap(({ op, text }) => marked(marks[op], text))]
}

const marked = (mark: string, line: string): string[] =>
  line.endsWith('\n') ? [`${mark}${line.slice(0, -1)}`] : [`${mark}${line}`, '\\ No newline at end of file']

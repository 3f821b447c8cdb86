import { diffLines } from 'diff'
import { useMemo } from 'react'
import type { DiffLine } from './diff-lines.ts'
import { LineDiff } from './line-diff.tsx'

interface Props {
  readonly before: string
  readonly after: string
  readonly label: string
}

/** Compares two texts. In a file of its own, because the library for it is loaded when it is first needed. */
export function DiffCompared({ before, after, label }: Props) {
  const lines = useMemo(() => compared(before, after), [before, after])
  return <LineDiff lines={lines} label={label} />
}

const opOf = ({ added, removed }: { readonly added: boolean; readonly removed: boolean }): DiffLine['op'] =>
  added ? 'added' : removed ? 'removed' : 'same'

/** A missing line break at the end is no difference. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

const compared = (before: string, after: string): DiffLine[] =>
  diffLines(ended(before), ended(after)).flatMap(part =>
    part.value
      .replace(/\n$/, '')
      .split('\n')
      .map(text => ({ op: opOf(part), text })),
  )

import { useMemo } from 'react'
import { diffLines } from './line-changes.ts'
import { LineDiff } from './line-diff.tsx'

interface Props {
  readonly before: string
  readonly after: string
  /** What is compared, for screen readers: `Changes of the prompt`. */
  readonly label: string
}

/** The difference of two texts, line by line. */
export function DiffView({ before, after, label }: Props) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  return <LineDiff lines={lines} label={label} />
}

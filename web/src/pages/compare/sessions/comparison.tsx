import { Switch } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { SessionSummary } from '../../../../../src/contract/session-summaries.ts'
import { useAddress } from '../../../parts/address.ts'
import { count, duration, exactCount, money, plural } from '../../../parts/format.ts'
import { Section } from '../../../parts/section.tsx'
import type { View } from '../../../session-log/view.ts'
import { type FigureRow, FiguresTable } from '../figures-table.tsx'
import { costsQuery, maxEvents } from '../queries.ts'
import { AgentDifference } from './agent-difference.tsx'
import { type Figures, figuresOf } from './figures.ts'
import { FinalFiles } from './final-files.tsx'
import { equalPairs, pairsOf } from './pairs.ts'
import { partingSeq, promptTurns } from './parting.ts'
import { Transcripts } from './transcripts.tsx'

export interface Compared {
  readonly id: string
  readonly session: SessionSummary
  readonly view: View
}

interface Props {
  readonly a: Compared
  readonly b: Compared
}

/** Two sessions: their figures, what their agents differ in, their prompts side by side, their files. */
export function Comparison({ a, b }: Props) {
  const [{ all }, setAddress] = useAddress<'all'>()
  const costsA = useQuery(costsQuery(a.id)).data
  const costsB = useQuery(costsQuery(b.id)).data
  const parting = useMemo(() => partingSeq(a, b), [a, b])
  const afterSeq = all === '1' ? 0 : parting
  const pairs = useMemo(
    () => pairsOf(promptTurns(a.view, afterSeq), promptTurns(b.view, afterSeq)),
    [a.view, b.view, afterSeq],
  )
  const equal = useMemo(() => equalPairs(pairs), [pairs])
  const rows = useMemo(() => {
    const measured = equal.length > 0 ? equal : pairs
    const sideA = measured.flatMap(pair => pair.a ?? [])
    const sideB = measured.flatMap(pair => pair.b ?? [])
    return rowsOf(figuresOf(sideA, costsA ?? new Map()), figuresOf(sideB, costsB ?? new Map()))
  }, [equal, pairs, costsA, costsB])
  const isCut = Math.max(a.view.log.count, b.view.log.count) >= maxEvents
  return (
    <>
      {parting > 0 && (
        <Switch
          size="xs"
          label="Include what both have in common"
          description={`The sessions part after event ${parting}. A fork pays only for its own model calls`}
          checked={all === '1'}
          onChange={({ currentTarget }) => setAddress({ all: currentTarget.checked ? '1' : undefined })}
        />
      )}
      {isCut && <p className="soft">Compared by the first {exactCount(maxEvents)} events</p>}
      <Section title="Figures">
        <p className="soft">{extentOf(equal.length, pairs.length)}</p>
        <FiguresTable label="Figures of both sessions" nameA="A" nameB="B" rows={rows} />
      </Section>
      <AgentDifference a={a.session} b={b.session} />
      <Section title="Prompts">
        <Transcripts pairs={pairs} />
      </Section>
      <FinalFiles a={a.session} b={b.session} />
    </>
  )
}

/** Says which prompts the figures are about. */
function extentOf(equal: number, all: number): string {
  if (equal === 0) return 'Of all prompts: the sessions have none in common here'
  return equal === all ? 'Of all prompts, which are the same in both' : `Of ${plural(equal, 'prompt')} that both have`
}

function rowsOf(a: Figures, b: Figures): FigureRow[] {
  const row = (name: string, field: keyof Figures, format: (value: number) => string): FigureRow => ({
    name,
    a: a[field],
    b: b[field],
    format,
  })
  return [
    row('Cost', 'costUsd', money),
    row('Time', 'ms', duration),
    row('Model requests', 'requests', count),
    row('Input tokens', 'inputTokens', count),
    row('Output tokens', 'outputTokens', count),
    row('Tool calls', 'calls', count),
    row('Failed tool calls', 'failedCalls', count),
  ]
}

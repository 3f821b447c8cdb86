import { useMemo } from 'react'
import { textOf } from '../../../session-log/tool-text.ts'
import type { Turn } from '../../../session-log/view.ts'
import css from '../compare.module.css'
import { align } from './align.ts'
import { TurnCell } from './turn-cell.tsx'

interface Props {
  readonly turnsA: readonly Turn[]
  readonly turnsB: readonly Turn[]
}

const promptText = ({ prompt }: Turn): string =>
  prompt?.kind === 'compact' ? 'Compact the conversation' : textOf(prompt?.content ?? [])

/** The prompts of both sessions side by side, equal ones in one line. */
export function Transcripts({ turnsA, turnsB }: Props) {
  const pairs = useMemo(() => align(turnsA.map(promptText), turnsB.map(promptText)), [turnsA, turnsB])
  if (pairs.length === 0) return <p className="soft">No prompts to compare</p>
  return pairs.map(pair => {
    const [a, b] = [turnsA[pair.a ?? -1], turnsB[pair.b ?? -1]]
    return (
      <div key={`${a?.key}:${b?.key}`} className={css.pair}>
        <Cell side="A" turn={a} />
        <Cell side="B" turn={b} />
      </div>
    )
  })
}

function Cell({ side, turn }: { readonly side: 'A' | 'B'; readonly turn: Turn | undefined }) {
  return (
    <section className={css.cell} aria-label={`Session ${side}`}>
      <div className={css.side} aria-hidden>
        Session {side}
      </div>
      {turn ? (
        <TurnCell turn={turn} text={promptText(turn)} />
      ) : (
        <div className={css.missing}>Session {side} does not have this prompt</div>
      )}
    </section>
  )
}

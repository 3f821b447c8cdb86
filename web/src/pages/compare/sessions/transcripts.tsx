import type { Turn } from '../../../session-log/view.ts'
import css from '../compare.module.css'
import { promptText, type TurnPair } from './pairs.ts'
import { TurnCell } from './turn-cell.tsx'

/** The prompts of both sessions side by side, equal ones in one line. */
export function Transcripts({ pairs }: { readonly pairs: readonly TurnPair[] }) {
  if (pairs.length === 0) return <p className="soft">No prompts to compare</p>
  return pairs.map(({ a, b }) => (
    <div key={`${a?.key}:${b?.key}`} className={css.pair}>
      <Cell side="A" turn={a} />
      <Cell side="B" turn={b} />
    </div>
  ))
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

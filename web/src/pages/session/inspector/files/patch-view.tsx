import { useMemo } from 'react'
import type { NumberedLine } from '../../../../parts/diff-lines.ts'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { hunksOf } from './patch-lines.ts'
import css from './patch-view.module.css'

interface Props {
  /** Unified diff of one file. */
  readonly patch: string
  readonly label: string
}

/** The changed lines of a file. Each carries a sign, a word for screen readers and a color. */
export function PatchView({ patch, label }: Props) {
  const hunks = useMemo(() => hunksOf(patch), [patch])
  if (hunks.length === 0) return <p className="soft">No lines differ</p>
  return (
    <div className={css.patch} role="group" aria-label={`Changes of ${label}`} tabIndex={0}>
      {hunks.map(({ at, lines }) => (
        <div key={at} className={css.hunk}>
          {lines.map(line => (
            <Line key={line.at} line={line} />
          ))}
        </div>
      ))}
    </div>
  )
}

const signs = { same: ' ', added: '+', removed: '−' } as const
const words = { same: '', added: 'added: ', removed: 'removed: ' } as const

function Line({ line: { op, text, before, after } }: { readonly line: NumberedLine }) {
  return (
    <div className={css.line} data-op={op}>
      <span className={css.number} aria-hidden>
        {after ?? before}
      </span>
      <span className={css.sign} aria-hidden>
        {signs[op]}
      </span>
      <span className={css.text}>
        <span className="visually-hidden">{words[op]}</span>
        <SafeText text={text} />
      </span>
    </div>
  )
}

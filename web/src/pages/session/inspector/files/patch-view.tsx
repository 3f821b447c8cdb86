import { useMemo } from 'react'
import { Line } from '../../../../parts/line-diff.tsx'
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
            <Line key={line.at} line={line} numbers={[line.after ?? line.before]} />
          ))}
        </div>
      ))}
    </div>
  )
}

import { UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { type DiffLine, type DiffPart, partsOf, sizeOf } from './diff-lines.ts'
import css from './diff-view.module.css'
import { plural } from './format.ts'
import { SafeText } from './safe-text.tsx'

interface Props {
  readonly lines: readonly DiffLine[]
  readonly label: string
}

/** A difference that was computed elsewhere. Lines carry a sign, a word for screen readers and a color. */
export function LineDiff({ lines, label }: Props) {
  const { added, removed } = sizeOf(lines)
  if (added + removed === 0) return <div className={css.pending}>No difference</div>
  return (
    <div className={css.diff} role="group" aria-label={`${label}: ${added} added, ${removed} removed`}>
      <div className={css.size}>
        <span className={css.addedCount}>+{added}</span> <span className={css.removedCount}>−{removed}</span>
      </div>
      <div className={css.lines} tabIndex={0}>
        {partsOf(lines).map(part => (
          <Part key={part.lines[0]?.at} part={part} />
        ))}
      </div>
    </div>
  )
}

function Part({ part }: { readonly part: DiffPart }) {
  const [isOpen, setOpen] = useState(!part.isFolded)
  if (!isOpen) {
    return (
      <UnstyledButton className={css.fold} onClick={() => setOpen(true)}>
        Show {plural(part.lines.length, 'unchanged line')}
      </UnstyledButton>
    )
  }
  return part.lines.map(line => <Line key={line.at} line={line} numbers={[line.before, line.after]} />)
}

const signs = { same: ' ', added: '+', removed: '−' } as const
const words = { same: '', added: 'added: ', removed: 'removed: ' } as const

interface LineProps {
  readonly line: DiffLine
  readonly numbers: readonly [number | undefined, number | undefined] | readonly [number | undefined]
}

/** A line of a difference behind its numbers. */
export function Line({ line: { op, text }, numbers: [first, ...more] }: LineProps) {
  return (
    <div className={css.line} data-op={op}>
      <span className={css.number} aria-hidden>
        {first}
      </span>
      {more.length > 0 && (
        <span className={css.number} aria-hidden>
          {more[0]}
        </span>
      )}
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

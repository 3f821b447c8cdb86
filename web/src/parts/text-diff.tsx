import { diffLines } from 'diff'
import { Fragment } from 'react'
import { SafeText } from './safe-text.tsx'
import css from './text-diff.module.css'

interface Props {
  readonly before: string
  readonly after: string
}

type Op = 'same' | 'removed' | 'added'

interface Line {
  readonly at: number
  readonly op: Op
  readonly text: string
}

const contextLines = 3
const marks: Readonly<Record<Op, string>> = { same: ' ', removed: '−', added: '+' }

/** The lines that differ between two texts, with their context. Load it lazily: it needs the diff library. */
export function TextDiff({ before, after }: Props) {
  const lines = linesOf(before, after)
  return (
    <pre className={css.diff} tabIndex={0}>
      {lines.map((line, index) => (
        <Fragment key={line.at}>
          {index > 0 && line.at - (lines[index - 1]?.at ?? 0) > 1 && <span className={css.gap}>…</span>}
          <span className={css.line} data-op={line.op}>
            <span className={css.mark} aria-hidden>
              {marks[line.op]}
            </span>
            {line.op !== 'same' && <span className="visually-hidden">{line.op}: </span>}
            <SafeText text={line.text} />
          </span>
        </Fragment>
      ))}
    </pre>
  )
}

function linesOf(before: string, after: string): readonly Line[] {
  const all = diffLines(withEnd(before), withEnd(after)).flatMap(({ value, added, removed }) => {
    const op: Op = added ? 'added' : removed ? 'removed' : 'same'
    return value
      .replace(/\n$/, '')
      .split('\n')
      .map(text => ({ op, text }))
  })
  const changed = all.flatMap(({ op }, at) => (op === 'same' ? [] : [at]))
  return all
    .map((line, at) => ({ ...line, at }))
    .filter(({ at }) => changed.some(each => Math.abs(each - at) <= contextLines))
}

const withEnd = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

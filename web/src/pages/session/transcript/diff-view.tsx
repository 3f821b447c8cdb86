import { Button } from '@mantine/core'
import { useState } from 'react'
import { SafeText } from '../../../parts/safe-text.tsx'
import { type DiffLine, diffLines, type FileEdit } from '../../../session-log/file-edits.ts'
import css from './diff-view.module.css'

const maxLines = 40
const marks = { same: ' ', added: '+', removed: '−' } as const
const words = { same: '', added: 'added: ', removed: 'removed: ' } as const

/** Equal lines differ only by their place. */
const numbered = <Value,>(values: readonly Value[]): { readonly at: number; readonly value: Value }[] =>
  values.map((value, at) => ({ at, value }))

/** The changes of a file, line by line. */
export function DiffView({ edits }: { readonly edits: readonly FileEdit[] }) {
  return numbered(edits).map(({ at, value }) => <Diff key={at} edit={value} />)
}

function Diff({ edit }: { readonly edit: FileEdit }) {
  const [isOpen, setOpen] = useState(false)
  const lines = diffLines(edit)
  const shown = isOpen ? lines : lines.slice(0, maxLines)
  return (
    <figure className={css.diff} aria-label={`Changes of ${edit.path}`}>
      <figcaption className={css.path}>
        <SafeText text={edit.path} />
        {edit.before === undefined && <span className="soft">whole file</span>}
        {edit.isForEachMatch && <span className="soft">every occurrence</span>}
      </figcaption>
      <div className={css.lines} tabIndex={0} role="group" aria-label="Lines">
        {numbered(shown).map(({ at, value }) => (
          <Line key={at} line={value} />
        ))}
      </div>
      {lines.length > maxLines && (
        <Button variant="subtle" size="compact-xs" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${lines.length.toLocaleString('en-US')} lines`}
        </Button>
      )}
    </figure>
  )
}

function Line({ line: { kind, text } }: { readonly line: DiffLine }) {
  return (
    <div className={css.line} data-kind={kind}>
      <span className={css.mark} aria-hidden>
        {marks[kind]}
      </span>
      <span className="visually-hidden">{words[kind]}</span>
      <SafeText text={text === '' ? ' ' : text} />
    </div>
  )
}

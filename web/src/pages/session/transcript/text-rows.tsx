import { UnstyledButton } from '@mantine/core'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { count } from '../../../parts/format.ts'
import { Markdown } from '../../../parts/markdown.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import type { Row } from '../../../session-log/rows.ts'
import { textOf } from '../../../session-log/tool-text.ts'
import type { TextItem, ThinkingItem } from '../../../session-log/view.ts'
import { RowFrame } from './row-frame.tsx'
import css from './transcript.module.css'

/** A text of the model. */
export function TextRow({ row, item }: { readonly row: Row; readonly item: TextItem }) {
  return (
    <RowFrame row={row}>
      <Markdown text={textOf(item.content)} />
      {item.isInterrupted && <StatePill state="stopped" word="cut off" detail="the run was interrupted here" />}
    </RowFrame>
  )
}

/** A text that the model is writing. The stored text takes its place. */
export function LiveRow({ row }: { readonly row: Extract<Row, { kind: 'live' }> }) {
  return (
    <RowFrame row={row} label={<span className={css.liveMark}>live</span>}>
      <div className={css.live} aria-busy="true">
        <Markdown text={row.live.text} />
      </div>
    </RowFrame>
  )
}

interface ThinkingProps {
  readonly row: Row
  readonly item: ThinkingItem
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** What the model thought, folded. */
export function ThinkingRow({ row, item, isOpen, onToggle }: ThinkingProps) {
  const { text } = item
  if (text === '') {
    return (
      <RowFrame row={row}>
        <span className="soft">Thinking (not shown by the provider)</span>
      </RowFrame>
    )
  }
  return (
    <RowFrame row={row}>
      <UnstyledButton className={css.fold ?? ''} aria-expanded={isOpen} onClick={onToggle}>
        {isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
        <span>Thinking</span>
        {!isOpen && (
          <span className="soft clip">
            <SafeText text={text.slice(0, 200).replaceAll(/\s+/g, ' ')} />
          </span>
        )}
        <span className="soft numbers">{count(text.length)} characters</span>
      </UnstyledButton>
      {isOpen && (
        <p className={css.thought}>
          <SafeText text={text} />
        </p>
      )}
    </RowFrame>
  )
}

import { memo } from 'react'
import type { Row } from '../../../session-log/rows.ts'
import { EndRow } from './end-row.tsx'
import { NoteRow } from './note-row.tsx'
import { PromptRow } from './prompt-row.tsx'
import { RequestRow } from './request-row.tsx'
import { LiveRow, TextRow, ThinkingRow } from './text-rows.tsx'
import { ThreadRow } from './thread-row.tsx'
import { ToolRow } from './tool-row.tsx'

export interface RowProps {
  readonly row: Row
  readonly isOpen: boolean
  readonly onToggle: (key: string) => void
}

/** The content of one row. It is drawn again only when its row, or whether it is open, changes. */
export const RowContent = memo(function RowContent({ row, isOpen, onToggle }: RowProps) {
  const toggle = () => onToggle(row.key)
  switch (row.kind) {
    case 'prompt':
      return <PromptRow row={row} isOpen={isOpen} onToggle={toggle} />
    case 'request':
      return <RequestRow row={row} />
    case 'end':
      return <EndRow row={row} />
    case 'live':
      return <LiveRow row={row} />
    case 'item':
      return <ItemRow row={row} isOpen={isOpen} onToggle={toggle} />
  }
})

interface ItemProps {
  readonly row: Extract<Row, { kind: 'item' }>
  readonly isOpen: boolean
  readonly onToggle: () => void
}

function ItemRow({ row, isOpen, onToggle }: ItemProps) {
  const { item } = row
  const open = { row, isOpen, onToggle }
  switch (item.kind) {
    case 'text':
      return <TextRow row={row} item={item} />
    case 'thinking':
      return <ThinkingRow {...open} item={item} />
    case 'tool':
      return <ToolRow {...open} call={item} />
    case 'thread':
      return <ThreadRow {...open} thread={item} />
    case 'note':
      return <NoteRow {...open} note={item} />
  }
}

import { Button } from '@mantine/core'
import { IconPaperclip } from '@tabler/icons-react'
import { Time } from '../../../parts/figures.tsx'
import { bytes, exactCount } from '../../../parts/format.ts'
import { SafeText } from '../../../parts/safe-text.tsx'
import type { Row } from '../../../session-log/rows.ts'
import type { Prompt } from '../../../session-log/view.ts'
import { RowFrame } from './row-frame.tsx'
import css from './transcript.module.css'

interface Props {
  readonly row: Extract<Row, { kind: 'prompt' }>
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** A message to the agent, as it was written. */
export function PromptRow({ row, isOpen, onToggle }: Props) {
  const { prompt, isJoined } = row
  return (
    <RowFrame
      row={row}
      label="YOU"
      aside={<Time at={prompt.queuedAt} absent="" />}
      forkPoint={() => ({ messageId: prompt.id })}
    >
      {isJoined && <p className="soft">Joined the run</p>}
      {prompt.kind === 'compact' && <p className="soft">Compact the conversation</p>}
      {prompt.kind === 'unknown' && <p className="soft">The message of this run is among older events.</p>}
      <PromptText prompt={prompt} isOpen={isOpen} onToggle={onToggle} />
      <PromptFiles prompt={prompt} />
    </RowFrame>
  )
}

const maxLines = 20
const maxChars = 4_000

function PromptText({ prompt, isOpen, onToggle }: Omit<Props, 'row'> & { readonly prompt: Prompt }) {
  const text = promptText(prompt)
  const lines = text.split('\n')
  const isLong = lines.length > maxLines || text.length > maxChars
  const shown = isLong && !isOpen ? lines.slice(0, maxLines).join('\n').slice(0, maxChars) : text
  if (text === '') return null
  return (
    <>
      <p className={css.prompt}>
        <SafeText text={shown} />
      </p>
      {isLong && (
        <Button variant="subtle" size="compact-xs" onClick={onToggle}>
          {isOpen ? 'Show less' : `Show all ${exactCount(lines.length)} lines`}
        </Button>
      )}
    </>
  )
}

/** Returns the texts of a prompt, without its files. */
export const promptText = ({ content }: Pick<Prompt, 'content'>): string =>
  content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n\n')

export function PromptFiles({ prompt }: { readonly prompt: Prompt }) {
  const files = prompt.content.flatMap(part => (part.type === 'file' ? [part] : []))
  if (files.length === 0) return null
  return (
    <ul className={css.files} aria-label="Files of the message">
      {files.map(({ path, name, size }) => (
        <li key={path} className={css.chip} title={path}>
          <IconPaperclip size={12} aria-hidden />
          <SafeText text={name} />
          <span className="soft numbers">{bytes(size)}</span>
        </li>
      ))}
    </ul>
  )
}

import { ActionIcon, Tooltip, UnstyledButton } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { shortId } from './format.ts'

interface CopyButtonProps {
  readonly text: string
  /** What is copied: `session id`. */
  readonly what: string
}

/** Copies a text. */
export function CopyButton({ text, what }: CopyButtonProps) {
  const { copy, copied } = useClipboard({ timeout: 1500 })
  const label = copied ? 'Copied' : `Copy ${what}`
  return (
    <Tooltip label={label}>
      <ActionIcon aria-label={label} size="sm" onClick={() => copy(text)}>
        {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
    </Tooltip>
  )
}

/** An id, shortened in its middle; a click copies it. */
export function Id({ id, what = 'id' }: { readonly id: string; readonly what?: string }) {
  const { copy, copied } = useClipboard({ timeout: 1500 })
  return (
    <Tooltip label={copied ? 'Copied' : `${id} · click to copy`}>
      <UnstyledButton className="mono soft" aria-label={`Copy ${what} ${shortId(id)}`} onClick={() => copy(id)}>
        {shortId(id)}
      </UnstyledButton>
    </Tooltip>
  )
}

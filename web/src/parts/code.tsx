import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import css from './code.module.css'
import { CopyButton } from './copy.tsx'
import { exactCount } from './format.ts'
import { SafeText } from './safe-text.tsx'

interface Props {
  readonly text: string
  /** What it is, for the copy button: `curl command`. */
  readonly what: string
  /** Lines shown before "show all"; 20 by default. */
  readonly maxLines?: number
  /** Shows the visible part; by default as it is, with hidden characters marked. */
  readonly render?: (shown: string) => ReactNode
}

const maxChars = 64 * 1024

const safeText = (shown: string): ReactNode => <SafeText text={shown} />

/** A block of code or output: hidden characters visible, folded above 20 lines or 64 KiB, with a copy button. */
export function CodeBlock({ text, what, maxLines = 20, render = safeText }: Props) {
  const [isOpen, setOpen] = useState(false)
  const lines = text.split('\n')
  const isLong = lines.length > maxLines || text.length > maxChars
  const shown = isLong && !isOpen ? lines.slice(0, maxLines).join('\n').slice(0, maxChars) : text
  return (
    <div className={css.block}>
      <div className={css.copy}>
        <CopyButton text={text} what={what} />
      </div>
      <pre className={css.code} tabIndex={0}>
        {render(shown)}
      </pre>
      {isLong && (
        <Button variant="subtle" size="compact-xs" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${exactCount(lines.length)} lines`}
        </Button>
      )}
    </div>
  )
}

/** A value as indented JSON. */
export function JsonBlock({ value, what }: { readonly value: unknown; readonly what: string }) {
  return <CodeBlock text={JSON.stringify(value, null, 2) ?? 'undefined'} what={what} />
}

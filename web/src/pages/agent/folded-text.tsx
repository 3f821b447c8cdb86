import { Button } from '@mantine/core'
import { useState } from 'react'
import { SafeText } from '../../parts/safe-text.tsx'

interface Props {
  readonly text: string
  readonly className: string
}

const maxLines = 20
const maxChars = 3000

/** A text that is folded when it is long. */
export function FoldedText({ text, className }: Props) {
  const [isOpen, setOpen] = useState(false)
  const lines = text.split('\n')
  const isLong = lines.length > maxLines + 3 || text.length > maxChars
  const shown = isLong && !isOpen ? lines.slice(0, maxLines).join('\n').slice(0, maxChars) : text
  return (
    <div>
      <pre className={className}>
        <SafeText text={shown} />
      </pre>
      {isLong && (
        <Button variant="subtle" size="compact-xs" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : 'Show the whole text'}
        </Button>
      )}
    </div>
  )
}

import { Button } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconFilter } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'

interface Props {
  /** How many of the filters inside are set. */
  readonly count: number
  readonly children: ReactNode
}

/** Filters that narrow screens show on request only, since they would fill the screen. */
export function FilterFold({ count, children }: Props) {
  const isNarrow = useMediaQuery('(max-width: 720px)')
  const [isOpen, setOpen] = useState(false)
  if (!isNarrow) return children
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconFilter size={14} aria-hidden />}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? 'Hide filters' : count === 0 ? 'Show filters' : `Show filters (${count} set)`}
      </Button>
      {isOpen && children}
    </>
  )
}

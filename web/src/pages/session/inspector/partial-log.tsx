import { Button, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { View } from '../../../session-log/view.ts'
import css from './inspector.module.css'

interface Props {
  readonly title: string
  /** What stands at the right of the title. */
  readonly beside?: ReactNode
  readonly children: ReactNode
}

/** A titled part of a tab. */
export function Section({ title, beside, children }: Props) {
  return (
    <section className={css.section} aria-label={title}>
      <div className={css.sectionHead}>
        <Title order={2}>{title}</Title>
        {beside}
      </div>
      {children}
    </section>
  )
}

interface PartialProps {
  readonly view: View
  readonly isLoadingOlder: boolean
  readonly onLoadAll: () => void
}

/** Tells that figures cover only the loaded end of the log, and loads the rest; nothing for a whole log. */
export function PartialLog({ view: { log }, isLoadingOlder, onLoadAll }: PartialProps) {
  if (log.firstSeq <= 1) return null
  return (
    <p className={css.partial} role="status">
      <span>
        Only events {log.firstSeq.toLocaleString('en-US')} to {log.lastSeq.toLocaleString('en-US')} are loaded
      </span>
      <Button variant="default" size="compact-xs" loading={isLoadingOlder} onClick={onLoadAll}>
        Load all events
      </Button>
    </p>
  )
}

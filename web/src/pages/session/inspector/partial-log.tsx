import { Button } from '@mantine/core'
import { exactCount } from '../../../parts/format.ts'
import type { View } from '../../../session-log/view.ts'
import css from './inspector.module.css'

interface Props {
  readonly view: View
  readonly isLoadingOlder: boolean
  readonly onLoadAll: () => void
}

/** Says that figures cover only the loaded end of the log, and loads the rest; nothing for a whole log. */
export function PartialLog({ view: { log }, isLoadingOlder, onLoadAll }: Props) {
  if (log.firstSeq <= 1) return null
  return (
    <p className={css.partial} role="status">
      <span>
        Only events {exactCount(log.firstSeq)} to {exactCount(log.lastSeq)} are loaded
      </span>
      <Button variant="default" size="compact-xs" loading={isLoadingOlder} onClick={onLoadAll}>
        Load all events
      </Button>
    </p>
  )
}

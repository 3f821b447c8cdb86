import { Button } from '@mantine/core'
import { Id } from '../../parts/copy.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { Notice } from './load-call.tsx'
import css from './playground.module.css'

interface Props {
  readonly requestId: string
  /** What the form does not carry over. */
  readonly notes: readonly string[]
  readonly onRestore: () => void
  readonly onClose: () => void
}

/** Says that the form came from a logged call. */
export function LoadedNotice({ requestId, notes, onRestore, onClose }: Props) {
  return (
    <Notice onClose={onClose}>
      The form repeats call <Id id={requestId} what="request id" />. The recording masks what looks like a key or a
      password.{' '}
      <Button variant="subtle" size="compact-xs" onClick={onRestore}>
        Restore the input from before
      </Button>
      {notes.length > 0 && (
        <ul className={css.warnings}>
          {notes.map(note => (
            <li key={note}>
              <SafeText text={note} />
            </li>
          ))}
        </ul>
      )}
    </Notice>
  )
}

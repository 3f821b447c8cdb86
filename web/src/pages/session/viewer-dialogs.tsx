import type { SessionEvent } from '../../../../src/client/index.ts'
import type { Dialog } from './header/actions.tsx'
import { DeleteDialog, InterruptDialog } from './header/dialogs.tsx'
import { ForkForm } from './header/fork-form.tsx'

interface Props {
  readonly sessionId: string
  readonly title: string
  readonly dialog: Dialog | undefined
  /** Event after which to fork; undefined copies the whole log. */
  readonly forkAt: SessionEvent | undefined
  readonly waiting: number
  readonly onStopping: () => void
  readonly onClose: () => void
}

/** The questions and forms that the viewer opens. */
export function ViewerDialogs({ sessionId, title, dialog, forkAt, waiting, onStopping, onClose }: Props) {
  const common = { sessionId, title, onClose }
  return (
    <>
      <InterruptDialog {...common} isOpen={dialog === 'interrupt'} waiting={waiting} onSent={onStopping} />
      <DeleteDialog {...common} isOpen={dialog === 'delete'} />
      {dialog === 'fork' && <ForkForm {...common} eventId={forkAt?.id} seq={forkAt?.seq} />}
    </>
  )
}

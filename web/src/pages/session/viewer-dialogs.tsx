import { DeleteDialog, InterruptDialog } from './header/dialogs.tsx'
import { ForkForm } from './header/fork-form.tsx'
import type { Dialogs } from './use-dialogs.ts'

interface Props {
  readonly sessionId: string
  readonly title: string
  readonly dialogs: Dialogs
  readonly waiting: number
  readonly onStopping: () => void
}

/** The questions and forms that the viewer opens. */
export function ViewerDialogs({ sessionId, title, dialogs, waiting, onStopping }: Props) {
  const { dialog, forkPoint, close } = dialogs
  const common = { sessionId, title, onClose: close }
  return (
    <>
      <InterruptDialog {...common} isOpen={dialog === 'interrupt'} waiting={waiting} onSent={onStopping} />
      <DeleteDialog {...common} isOpen={dialog === 'delete'} />
      {dialog === 'fork' && <ForkForm {...common} point={forkPoint} />}
    </>
  )
}

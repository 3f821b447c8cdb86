import { useMemo, useState } from 'react'
import type { Dialog } from './header/actions.tsx'
import type { ForkPoint } from './selection.ts'

export interface Dialogs {
  readonly dialog: Dialog | undefined
  readonly forkPoint: ForkPoint | undefined
  readonly open: (dialog: Dialog) => void
  readonly fork: (point: ForkPoint) => void
  readonly close: () => void
}

interface Opened {
  readonly dialog: Dialog
  readonly forkPoint?: ForkPoint
}

/** Which question or form of the viewer is open. */
export function useDialogs(): Dialogs {
  const [opened, setOpened] = useState<Opened>()
  const actions = useMemo(
    () => ({
      open: (dialog: Dialog) => setOpened({ dialog }),
      fork: (forkPoint: ForkPoint) => setOpened({ dialog: 'fork', forkPoint }),
      close: () => setOpened(undefined),
    }),
    [],
  )
  return { dialog: opened?.dialog, forkPoint: opened?.forkPoint, ...actions }
}

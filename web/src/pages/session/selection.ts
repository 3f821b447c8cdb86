import { createContext, use, useCallback, useMemo } from 'react'
import type { SessionEvent } from '../../../../src/client/index.ts'
import { useAddress } from '../../parts/address.ts'

/** The event that timeline, transcript and inspector mark. It is in the address as `event`. */
export interface Selection {
  readonly eventId: string | undefined
  readonly select: (eventId: string | undefined) => void
}

export function useSelection(): Selection {
  const [{ event }, setAddress] = useAddress<'event'>()
  const select = useCallback((eventId: string | undefined) => setAddress({ event: eventId }), [setAddress])
  return useMemo(() => ({ eventId: event, select }), [event, select])
}

/** Where to fork: after an event, or before a message. */
export type ForkPoint = { readonly eventId: string } | { readonly messageId: string }

/** What rows of the transcript need besides their content. The object stays the same while events arrive. */
export interface ViewerContext {
  readonly sessionId: string
  /** The runtime takes changed arguments of approved calls. */
  readonly canEdit: boolean
  readonly isDeleted: boolean
  /** Returns stored events by their ids. */
  readonly eventsOf: (ids: readonly string[]) => readonly SessionEvent[]
  /** Opens the form that forks the session. */
  readonly fork: (point: ForkPoint) => void
}

export const ViewerContext = createContext<ViewerContext | undefined>(undefined)

export function useViewer(): ViewerContext {
  const viewer = use(ViewerContext)
  if (!viewer) throw new Error('useViewer needs ViewerContext')
  return viewer
}

import { createContext, use } from 'react'
import { useAddress } from '../../parts/address.ts'

/** The event that timeline, transcript and inspector mark. It is in the address as `event`. */
export interface Selection {
  readonly eventId: string | undefined
  readonly select: (eventId: string | undefined) => void
}

export function useSelection(): Selection {
  const [{ event }, setAddress] = useAddress<'event'>()
  return { eventId: event, select: eventId => setAddress({ event: eventId }) }
}

/** What rows of the transcript need besides their content. */
export interface ViewerContext {
  readonly sessionId: string
  /** The runtime takes changed arguments of approved calls. */
  readonly canEdit: boolean
  readonly isDeleted: boolean
  readonly costOf: (groupKey: string) => string | null | undefined
  readonly forkAt: (eventId: string) => void
}

const Context = createContext<ViewerContext | undefined>(undefined)
export const ViewerProvider = Context

export function useViewer(): ViewerContext {
  const viewer = use(Context)
  if (!viewer) throw new Error('useViewer needs ViewerProvider')
  return viewer
}

import type { View } from '../../../session-log/view.ts'
import type { Selection } from '../selection.ts'

/** What each tab of the inspector gets. */
export interface InspectorProps {
  readonly sessionId: string
  readonly view: View
  /** `select` marks an event in the transcript and scrolls to it. */
  readonly selection: Selection
  /** Loads the events before the first one of the view. */
  readonly onLoadAll: () => void
  readonly isLoadingOlder: boolean
}

import type { View } from '../../../session-log/view.ts'
import type { Selection } from '../selection.ts'

export interface InspectorProps {
  readonly sessionId: string
  readonly view: View
  /** `select` marks an event in the transcript and scrolls to it. */
  readonly selection: Selection
}

/** Details of the session and of the selected event. */
export function Inspector({ selection }: InspectorProps) {
  return <p className="soft">{selection.eventId ?? 'Nothing is selected'}</p>
}

import { isDeepStrictEqual } from 'node:util'
import type { ManagedBudget, ManagedSessionUpdate } from '../../contract/managed-sessions.ts'
import { type MetadataMap, patched } from '../platform/metadata.ts'

interface Asked {
  /** The title as clients see it. */
  readonly title: string | null
  readonly metadata: MetadataMap
  readonly body: ManagedSessionUpdate
}

/** What an update changes of a session; a field that is not there stays as it is. */
export interface SessionChanges {
  readonly title?: string | null
  readonly metadata?: MetadataMap
  readonly budget?: ManagedBudget | null
}

/** What differs after an update; undefined when nothing does. A blank title is none. */
export function changesOfSession({ title: before, metadata: noted, body }: Asked): SessionChanges | undefined {
  const { budget } = body
  const title = body.title?.trim() ? body.title : null
  const metadata = patched(noted, body.metadata)
  const changes: SessionChanges = {
    ...(body.title !== undefined && title !== before && { title }),
    ...(!isDeepStrictEqual(metadata, noted) && { metadata }),
    ...(budget !== undefined && { budget }),
  }
  return Object.keys(changes).length > 0 ? changes : undefined
}

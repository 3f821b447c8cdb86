import { isDeepStrictEqual } from 'node:util'
import type { ManagedBudget, ManagedSessionUpdate } from '../../contract/managed-sessions.ts'
import { type MetadataMap, patched } from '../platform/metadata.ts'

interface UpdateInput {
  /** The title as clients see it. */
  readonly title: string | null
  readonly metadata: MetadataMap
  readonly body: ManagedSessionUpdate
}

/** Fields of a session that an update changes; absent fields are unchanged. */
export interface SessionChanges {
  readonly title?: string | null
  readonly metadata?: MetadataMap
  readonly budget?: ManagedBudget | null
}

/** Returns the fields that differ after an update; undefined when none does. A blank title means no title. */
export function changesOfSession({ title: before, metadata: current, body }: UpdateInput): SessionChanges | undefined {
  const { budget } = body
  const title = body.title?.trim() ? body.title : null
  const metadata = patched(current, body.metadata)
  const changes: SessionChanges = {
    ...(body.title !== undefined && title !== before && { title }),
    ...(!isDeepStrictEqual(metadata, current) && { metadata }),
    ...(budget !== undefined && { budget }),
  }
  return Object.keys(changes).length > 0 ? changes : undefined
}

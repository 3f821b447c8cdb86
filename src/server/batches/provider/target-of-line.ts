import type { BatchTarget } from '../../gateway/batching/batch-api.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { isAbsent, type Json, recordsOf } from '../../platform/json.ts'
import type { BatchKind } from '../batch-store.ts'

/** Returns where the call of a new line goes if to a provider's batch API; undefined for a line that is called singly. */
export type TargetOfLine = (kind: BatchKind, body: Json) => BatchTarget | undefined

export const createTargetOfLine =
  ({ batchTarget }: Pick<Gateway, 'batchTarget'>): TargetOfLine =>
  (kind, body) => {
    const { model } = body
    if (typeof model !== 'string' || (kind === 'responses' && needsState(body))) return undefined
    return batchTarget(kind, model)
  }

/** True for requests that the gateway completes from stored responses, or answers later. */
const needsState = ({ previous_response_id: previous, conversation, background, input }: Json): boolean =>
  !isAbsent(previous) ||
  !isAbsent(conversation) ||
  background === true ||
  recordsOf(input).some(({ type }) => type === 'item_reference')

import type { Batch, BatchEndpoint, MessageBatch } from '../../contract/batches.ts'
import type { BatchKind, BatchRow } from './batch-store.ts'

/** Kind of the calls of each endpoint in OpenAI's format. */
export const kindOfEndpoint: Readonly<Record<BatchEndpoint, BatchKind>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/embeddings': 'embeddings',
}

const endpoints = Object.keys(kindOfEndpoint) as BatchEndpoint[]

/** Returns the endpoint of a batch in OpenAI's format. */
export function endpointOf({ kind }: Pick<BatchRow, 'kind'>): BatchEndpoint {
  const found = endpoints.find(endpoint => kindOfEndpoint[endpoint] === kind)
  if (found === undefined) throw new Error(`batches of OpenAI's format make no calls of kind ${kind} (bug)`)
  return found
}

/** Returns a batch in Anthropic's format. */
export function toMessageBatch(row: BatchRow, resultsUrl: string): MessageBatch {
  const { succeeded, errored, canceled, expired } = row
  const isEnded = row.state === 'ended'
  return {
    id: row.id,
    type: 'message_batch',
    processing_status: isEnded ? 'ended' : row.state === 'canceling' ? 'canceling' : 'in_progress',
    request_counts: {
      processing: row.lines - succeeded - errored - canceled - expired,
      succeeded,
      errored,
      canceled,
      expired,
    },
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    cancel_initiated_at: row.cancel_initiated_at?.toISOString() ?? null,
    archived_at: null,
    results_url: isEnded ? resultsUrl : null,
    waiting_for: row.waiting_for,
    provider_batches: [...row.provider_batches],
  }
}

const secondsOf = (time: Date | null): number | null => time && Math.floor(time.getTime() / 1_000)

/** Returns a batch in OpenAI's format. */
export function toBatch(row: BatchRow): Batch {
  const endedAt = (outcome: BatchRow['outcome']) => (row.outcome === outcome ? secondsOf(row.ended_at) : null)
  return {
    id: row.id,
    object: 'batch',
    endpoint: endpointOf(row),
    errors: row.errors && { object: 'list', data: [...row.errors] },
    input_file_id: row.input_file_id ?? '',
    completion_window: '24h',
    status: statusOf(row),
    output_file_id: row.output_file_id,
    error_file_id: row.error_file_id,
    created_at: secondsOf(row.created_at) ?? 0,
    in_progress_at: secondsOf(row.started_at),
    expires_at: secondsOf(row.expires_at) ?? 0,
    finalizing_at: secondsOf(row.finalizing_at),
    completed_at: endedAt('completed'),
    failed_at: endedAt('failed'),
    expired_at: endedAt('expired'),
    cancelling_at: secondsOf(row.cancel_initiated_at),
    cancelled_at: endedAt('cancelled'),
    request_counts: {
      total: row.lines,
      completed: row.succeeded,
      failed: row.errored + row.canceled + row.expired,
    },
    metadata: row.metadata && { ...row.metadata },
    waiting_for: row.waiting_for,
    provider_batches: [...row.provider_batches],
  }
}

function statusOf({ state, outcome }: BatchRow): Batch['status'] {
  switch (state) {
    case 'ended':
      return outcome ?? 'completed'
    case 'finalizing':
      return outcome === 'cancelled' ? 'cancelling' : 'finalizing'
    case 'canceling':
      return 'cancelling'
    case 'receiving':
      return 'validating'
    case 'validating':
    case 'in_progress':
      return state
  }
}

import type { NewEvent, StopDetails } from '../../../contract/events.ts'
import { isRecord, type Json, listOf, nonEmptyText, recordOf, textIn, textOf } from '../../platform/json.ts'
import { failed, idle } from '../runtime.ts'

/** Effect of a provider's status or error on our run. */
export type StatusChange =
  | { readonly kind: 'running' }
  /** Still running; the event explains the delay. */
  | { readonly kind: 'waits'; readonly event: NewEvent }
  /** People have to answer; the ids are those of the provider's events. */
  | { readonly kind: 'asks'; readonly sourceIds: readonly string[] }
  /** `isOfSession` when it applies whether or not our message was processed. */
  | { readonly kind: 'ends'; readonly event: NewEvent; readonly isOfSession: boolean }

/** Cleans a provider's text for the log. */
type Clean = (text: string) => string

/** Source: Dialects, section 1.6. */
const errorTypes: ReadonlySet<string> = new Set([
  'unknown_error',
  'model_overloaded_error',
  'model_rate_limited_error',
  'model_request_failed_error',
  'mcp_connection_failed_error',
  'mcp_authentication_failed_error',
  'billing_error',
  'credential_host_unreachable_error',
  'tool_use_limit_reached_error',
  'compaction_limit_reached_error',
  'repository_authentication_error',
  'repository_forbidden_error',
  'repository_not_found_error',
  'repository_checkout_error',
  'repository_clone_error',
])

/** Returns the effect of an event; undefined when it has none. Source: Dialects, section 1.9, rule 4. */
export function statusChangeOf(event: Json, clean: Clean): StatusChange | undefined {
  switch (event['type']) {
    case 'session.status_running':
      return { kind: 'running' }
    case 'session.status_rescheduled':
      return { kind: 'waits', event: { type: 'session.status_rescheduled' } }
    case 'session.status_idle':
      return afterIdle(event, clean)
    case 'session.error':
      return afterError(recordOf(event['error']), clean)
    case 'session.status_terminated':
      return {
        kind: 'ends',
        isOfSession: true,
        event: failed('model_request_failed_error', 'the runtime terminated the session'),
      }
    case 'session.deleted':
      return {
        kind: 'ends',
        isOfSession: true,
        event: failed('model_request_failed_error', 'the session was deleted at the runtime'),
      }
    default:
      return undefined
  }
}

function afterIdle({ stop_reason, stop_details }: Json, clean: Clean): StatusChange {
  const reason = recordOf(stop_reason)
  const type = nonEmptyText(reason['type']) ?? nonEmptyText(stop_reason) ?? 'end_turn'
  if (type === 'requires_action') {
    const sourceIds = listOf(reason['event_ids']).filter(id => typeof id === 'string')
    return { kind: 'asks', sourceIds }
  }
  return { kind: 'ends', isOfSession: false, event: endOf(type, detailsOf(stop_details, clean)) }
}

function endOf(type: string, details: StopDetails | null): NewEvent {
  if (type === 'retries_exhausted') return failed('model_request_failed_error', 'the runtime used up its retries')
  // Our own `budget_reached` pauses a run. This budget belongs to the provider, so the run is over.
  if (type === 'budget_reached')
    return idle({ type: 'end_turn' }, { type, message: 'the budget of the session at the runtime is exhausted' })
  return idle({ type: type === 'refusal' ? type : 'end_turn' }, details)
}

function detailsOf(details: unknown, clean: Clean): StopDetails | null {
  if (!isRecord(details)) return null
  const cleaned: Json = Object.fromEntries(
    Object.entries(details).map(([name, value]) => [name, typeof value === 'string' ? clean(value) : value]),
  )
  const { type, message, ...rest } = cleaned
  return { ...rest, ...(typeof type === 'string' && { type }), ...(typeof message === 'string' && { message }) }
}

function afterError(error: Json, clean: Clean): StatusChange {
  const type = textOf(error['type'])
  const message = clean(textOf(error['message'])) || 'the runtime reported an error without a message'
  const ours = failed(errorTypes.has(type) ? type : 'unknown_error', message)
  const status = textIn(recordOf(error['retry_status'])['type']) ?? 'terminal'
  const isOver = status === 'terminal' || status === 'exhausted'
  const event = { ...ours, error: { ...ours.error, retry_status: { type: isOver ? status : 'retrying' } } } as const
  return isOver ? { kind: 'ends', isOfSession: false, event } : { kind: 'waits', event }
}

import type { SessionEvent } from '../../src/contract/events.ts'

/**
 * The contents of a log, without what may differ between a run that was interrupted and one that was not:
 * - times, numbers and generated ids, and the ids of tool calls, which the model generates for each answer;
 * - spans of model requests, which are repeated after a crash (I6 checks that each has an end);
 * - the words of a tool result: it may be the real one or "outcome unknown" (I6 checks that the tool did not run twice);
 * - the total of tokens, since a repeated call counts again;
 * - answers of called agents, which come in any order (I6 checks that each call has one result);
 * - that files came back from a checkpoint, which only an interrupted run reports.
 * Everything else must be the same: every message, every tool call with its arguments, every end, in the same order.
 */
export const transcriptOf = (log: readonly SessionEvent[]): string[] => log.flatMap(lineOf)

/** Without the ids of what is asked. */
function reasonOf({ stop_reason }: SessionEvent): string {
  const reason = stop_reason as { readonly type: string; readonly event_ids?: readonly string[] }
  return JSON.stringify({ ...reason, ...(reason.event_ids && { event_ids: reason.event_ids.length }) })
}

function lineOf(event: SessionEvent): string[] {
  switch (event.type) {
    case 'span.model_request_start':
    case 'span.model_request_end':
    case 'session.usage':
    case 'session.workspace_restored':
    case 'agent.thread_message_received':
    case 'session.thread_status_idle':
      return []
    case 'agent.tool_result':
      return ['agent.tool_result']
    case 'agent.tool_use':
      return [`agent.tool_use ${event.name} ${JSON.stringify(event.input)}`]
    case 'session.status_idle':
      return [`session.status_idle ${reasonOf(event)} ${JSON.stringify(event.stop_details)}`]
    default:
      return [`${event.type} ${JSON.stringify(event.content ?? event.error ?? null)}`]
  }
}

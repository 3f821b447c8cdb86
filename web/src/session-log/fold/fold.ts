import type { SessionEvent } from '../../../../src/contract/events.ts'
import type { EventOf } from '../view.ts'
import { answerCall, decideCall, endCall, expireCall, startCall } from './calls.ts'
import type { Draft } from './draft.ts'
import { becomeIdle, deleteSession, endPrompt, fail, reschedule } from './ends.ts'
import { addText, addThinking, endRequest, startRequest } from './requests.ts'
import { attach, note, noteUsage, queuePrompt, rename, requestStop, startRun } from './runs.ts'
import { addThreadMessage, changeThread, createThread } from './threads.ts'

/** What an event of each type changes. All other types are notes. */
const folds: { readonly [Type in SessionEvent['type']]?: (draft: Draft, event: EventOf<Type>) => void } = {
  'user.message': queuePrompt,
  'user.compact': queuePrompt,
  'user.interrupt': requestStop,
  'user.tool_confirmation': decideCall,
  'user.custom_tool_result': answerCall,
  'session.status_running': startRun,
  'session.status_idle': becomeIdle,
  'session.status_rescheduled': reschedule,
  'session.error': fail,
  'session.prompt_ended': endPrompt,
  'session.approval_expired': expireCall,
  'session.usage': noteUsage,
  'session.updated': rename,
  'session.deleted': deleteSession,
  'session.thread_created': createThread,
  'session.thread_status_running': changeThread,
  'session.thread_status_idle': changeThread,
  'session.thread_status_terminated': changeThread,
  'span.model_request_start': startRequest,
  'span.model_request_end': endRequest,
  'span.outcome_evaluation_ongoing': attach,
  'agent.message': addText,
  'agent.thinking': addThinking,
  'agent.tool_use': startCall,
  'agent.mcp_tool_use': startCall,
  'agent.custom_tool_use': startCall,
  'agent.tool_result': endCall,
  'agent.mcp_tool_result': endCall,
  'agent.thread_message_sent': addThreadMessage,
  'agent.thread_message_received': addThreadMessage,
}

/** Adds an event to the view. Each event gets a place: in a row of its own, or in the row that it changes. */
export function add(draft: Draft, event: SessionEvent): void {
  // The type of an event may be any text, also the name of a property of all objects.
  if (!Object.hasOwn(folds, event.type)) {
    note(draft, event)
    return
  }
  const fold = folds[event.type] as (draft: Draft, event: SessionEvent) => void
  fold(draft, event)
}

import type { SessionEvent } from '../../../src/contract/events.ts'
import { textOf } from './tool-text.ts'
import type { EventOf, Note } from './view.ts'

export type Tone = 'info' | 'warning' | 'error'

/** A note for people. `text` is empty where the label says everything. */
export interface NoteText {
  readonly label: string
  readonly text: string
  readonly tone: Tone
}

const info = (label: string, text = ''): NoteText => ({ label, text, tone: 'info' })

const texts: { readonly [Type in SessionEvent['type']]?: (event: EventOf<Type>) => NoteText } = {
  'user.interrupt': ({ reason }) => ({ label: 'Stop requested', text: reason ?? '', tone: 'warning' }),
  'user.define_outcome': ({ description }) => info('Outcome', description),
  'span.outcome_evaluation_start': ({ iteration }) => info('Grader', `evaluation ${iteration + 1}`),
  'span.outcome_evaluation_end': verdictText,
  'session.error': errorText,
  'session.status_idle': idleText,
  'agent.tool_result': ({ content }) => info('Result of an earlier call', textOf(content ?? [])),
  'agent.mcp_tool_result': ({ content }) => info('Result of an earlier call', textOf(content ?? [])),
  'user.custom_tool_result': ({ content }) => info('Result of an earlier call', textOf(content ?? [])),
  'user.tool_confirmation': ({ result }) => info(result === 'allow' ? 'Earlier call allowed' : 'Earlier call denied'),
  'session.approval_expired': () => info('Approval of an earlier call expired'),
  'session.warning': ({ warning }) => ({ label: 'Warning', text: warning.message, tone: 'warning' }),
  'session.status_running': () => info('Run resumed', 'another process continues it, or the same one after a crash'),
  'session.status_rescheduled': () => ({ label: 'Run rescheduled', text: 'the runtime tries again', tone: 'warning' }),
  'session.status_terminated': () => ({ label: 'Run terminated', text: 'by the runtime', tone: 'warning' }),
  'session.updated': ({ title }) => (title ? info('Title changed', title) : info('Metadata changed')),
  'session.deleted': () => info('Session deleted'),
  'session.forked': ({ forked_from: { session_id, seq } }) => info('Forked', `from ${session_id} after event ${seq}`),
  'session.workspace_restored': ({ files, bytes, checkpoint_seq: seq }) =>
    info('Workspace restored', `${files} files, ${bytes} bytes, as of event ${seq}`),
  'session.repository_ready': ({ repaired }) => info(repaired ? 'Repository repaired' : 'Repository ready'),
  'session.repository_pushed': ({ branch, commit, pull_request: pull }) =>
    info('Work pushed', `${branch} at ${commit.slice(0, 12)}${pull ? `, pull request ${pull.number}` : ''}`),
  'session.files_changed': ({ path, change, principal }) =>
    info(`File ${change}`, principal === undefined ? path : `${path} by ${principal}`),
  'agent.thread_context_compacted': ({ tokens_before: before, tokens_after: after }) =>
    info('Conversation compacted', before === undefined || after === undefined ? '' : `${before} to ${after} tokens`),
}

function verdictText({ result, explanation }: EventOf<'span.outcome_evaluation_end'>): NoteText {
  const label = `Grader: ${result.replaceAll('_', ' ')}`
  return { label, text: explanation, tone: result === 'satisfied' ? 'info' : 'warning' }
}

function idleText({ stop_reason: reason, stop_details: details }: EventOf<'session.status_idle'>): NoteText {
  if (reason.type !== 'budget_reached') return info('Waiting for an answer')
  const label = reason.is_frozen ? 'Paused: spending is frozen' : 'Paused: budget reached'
  return { label, text: details?.message ?? '', tone: 'warning' }
}

function errorText({ error }: EventOf<'session.error'>): NoteText {
  if (error.retry_status?.type !== 'retrying') return { label: 'Error', text: error.message, tone: 'error' }
  const { attempt } = error.retry_status
  return {
    label: attempt === undefined ? 'Try failed' : `Try ${attempt} failed`,
    text: error.message,
    tone: 'warning',
  }
}

/** Returns label and text of a note; an event of a type that the console does not know has its type as label. */
export function noteText({ event, isRestart }: Note): NoteText {
  if (isRestart) return { ...info('Run resumed'), tone: 'warning' }
  if (!Object.hasOwn(texts, event.type)) return info(event.type)
  const textOf = texts[event.type] as (event: SessionEvent) => NoteText
  return textOf(event)
}

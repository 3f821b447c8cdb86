import { type SessionEvent, textOfBlock } from '../contract/events.ts'
import { dim, type Piece, plain } from './out.ts'
import { plainLine, plainText } from './plain-text.ts'

/** How a run ended. With `approval` and `budget` it is paused until a person approves or raises a limit. */
export type Outcome = 'done' | 'stopped' | 'failed' | 'approval' | 'budget'

export interface RunEnd {
  readonly outcome: Outcome
  /** Text for people: `done`, `stopped`, or the error. */
  readonly text: string
}

type EventOf<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>

const maxArgumentLength = 100
const maxResultLines = 4
const maxResultWidth = 160

/** Returns the lines of an event for people; an empty list for events that matter only to programs. */
export function eventLines(event: SessionEvent): Piece[][] {
  switch (event.type) {
    case 'user.message':
      return [[dim('› '), plain(plainLine(textOf(event), 500))]]
    case 'user.interrupt':
      return [[dim('■ stop requested')]]
    case 'user.compact':
      return [[dim('› compact the conversation')]]
    case 'span.outcome_evaluation_start':
      return [[dim(`· a grader judges the result (${event.iteration + 1})`)]]
    case 'span.outcome_evaluation_end':
      return [[dim(`· ${event.result.replaceAll('_', ' ')}: `), plain(plainLine(event.explanation, 500))]]
    case 'agent.thread_context_compacted':
      return [[dim('· conversation compacted')]]
    case 'agent.message':
      return textLines(textOf(event)).map(line => [plain(line)])
    case 'agent.tool_use':
    case 'agent.mcp_tool_use':
    case 'agent.custom_tool_use':
      return [toolLine(event)]
    case 'agent.tool_result':
    case 'agent.mcp_tool_result':
    case 'user.custom_tool_result':
      return resultLines(event)
    case 'session.thread_created':
      return [
        [dim(`· agent ${plainLine(event.agent_name, 100)} works in session ${plainLine(event.session_thread_id, 60)}`)],
      ]
    case 'session.status_running':
      return [[dim('· running')]]
    case 'session.status_idle':
    case 'session.deleted':
      return [endLine(event)]
    case 'session.error':
      return [errorLine(event)]
    case 'session.warning':
      return [[plain(`! ${plainLine(event.warning.message, 500)}`)]]
    case 'session.status_rescheduled':
    case 'session.status_terminated':
      return [[dim(`· ${event.type.slice('session.status_'.length)}`)]]
    default:
      return []
  }
}

/** Returns how the run ended; `event` is its last event. */
export function runEndOf(event: SessionEvent): RunEnd {
  if (event.type === 'session.deleted') return { outcome: 'stopped', text: 'session was deleted' }
  if (event.type === 'session.error') return { outcome: 'failed', text: `failed: ${errorText(event)}` }
  const details = event.stop_details
  if (details?.type === 'interrupted') return { outcome: 'stopped', text: 'stopped on request' }
  switch (event.stop_reason?.type) {
    case 'requires_action':
      return {
        outcome: 'approval',
        text: 'waiting for approval or the result of a tool call; see: switchyard approvals ls',
      }
    case 'budget_reached':
      return { outcome: 'budget', text: budgetText(details?.message) }
    case 'refusal':
      return { outcome: 'failed', text: 'failed: the model refused to answer' }
    case 'retries_exhausted':
      return { outcome: 'failed', text: 'failed: all retries failed' }
    default:
      return { outcome: 'done', text: 'done' }
  }
}

function budgetText(message: string | undefined): string {
  const why = message === undefined ? 'a budget is exhausted' : plainLine(message, 500)
  return `budget reached: ${why} (continues automatically when the budget has room)`
}

/** Returns the joined text blocks of a message; other blocks as `[type]`. */
export function textOf(event: Pick<SessionEvent, 'content'>): string {
  return (event.content ?? []).map(block => textOfBlock(block) ?? `[${block.type ?? 'unknown'}]`).join('\n')
}

/** Returns the first argument of a tool call, usually the command, path or query. */
export function firstArgument(input: unknown): string {
  if (typeof input === 'string') return plainLine(input, maxArgumentLength)
  if (typeof input !== 'object' || input === null) return ''
  const first: unknown = Object.values(input)[0]
  if (first === undefined) return ''
  return plainLine(typeof first === 'string' ? first : JSON.stringify(first), maxArgumentLength)
}

function toolLine(event: EventOf<'agent.tool_use' | 'agent.mcp_tool_use' | 'agent.custom_tool_use'>): Piece[] {
  const { mcp_server_name: server, evaluated_permission: permission } = event
  const name = `${server === undefined ? '' : `${server}.`}${event.name}`
  const suffix = permission === 'ask' ? ' (needs approval)' : permission === 'deny' ? ' (denied)' : ''
  return [
    plain('▸ '),
    { text: plainLine(name, 100), tone: 'strong' },
    plain(`  ${firstArgument(event.input)}${suffix}`),
  ]
}

function resultLines(event: SessionEvent): Piece[][] {
  const isError = event.is_error === true
  const lines = textLines(textOf(event))
  const shown = lines.slice(0, maxResultLines).map(line => `  ${[...line].slice(0, maxResultWidth).join('')}`)
  if (lines.length > maxResultLines) shown.push(`  … ${lines.length - maxResultLines} more lines`)
  if (shown.length === 0) shown.push('  (no output)')
  return shown.map((text, at) => {
    if (!isError) return [dim(text)]
    return [{ text: at === 0 ? '✗ error' : '', tone: 'bad' }, dim(text)]
  })
}

function endLine(event: SessionEvent): Piece[] {
  const { outcome, text } = runEndOf(event)
  return [outcomePiece(outcome), plain(text)]
}

/** Returns the coloured mark of an outcome. */
export function outcomePiece(outcome: Outcome): Piece {
  switch (outcome) {
    case 'done':
      return { text: '✓ ', tone: 'good' }
    case 'stopped':
      return { text: '■ ', tone: 'warning' }
    case 'approval':
      return { text: '? ', tone: 'warning' }
    case 'budget':
      return { text: '‖ ', tone: 'warning' }
    case 'failed':
      return { text: '✗ ', tone: 'bad' }
  }
}

function errorLine(event: EventOf<'session.error'>): Piece[] {
  const isRetrying = event.error.retry_status?.type === 'retrying'
  if (isRetrying) return [{ text: `↻ retrying: ${errorText(event)}`, tone: 'warning' }]
  return [outcomePiece('failed'), plain(`failed: ${errorText(event)}`)]
}

function errorText({ error }: EventOf<'session.error'>): string {
  return `${plainLine(error.message, 500)} (${plainLine(error.type, 100)})`
}

/** Returns the lines of `text` without leading and trailing blank lines. */
function textLines(text: string): string[] {
  const trimmed = plainText(text)
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()
  return trimmed === '' ? [] : trimmed.split('\n')
}

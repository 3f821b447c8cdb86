import type { Content, SessionEvent } from '../../contract/events.ts'
import { budgetReached, endsRun, isOfThread, textOfBlock } from '../../contract/events.ts'
import type { OpencodeMessage } from '../../contract/sessions.ts'

type EventOf<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>

/** A part of a message in opencode's format. */
export type Part = Record<string, unknown>

/** The changes caused by an event. */
export interface Touched {
  /** The new or changed message; undefined when only parts changed. */
  readonly info?: Readonly<Record<string, unknown>>
  /** The new or changed parts. */
  readonly parts: readonly Part[]
}

const untouched: Touched = { parts: [] }

/** An assistant message while its run is being read. */
interface Answer {
  readonly info: Record<string, unknown>
  readonly parts: Part[]
  readonly tokens: { input: number; output: number; reasoning: number; cache: { read: number; write: number } }
}

/** Returns a session's log as messages with parts, in conversation order. Pure. Source: Dialects, section 2.1. */
export function opencodeMessages(sessionId: string, log: readonly SessionEvent[]): OpencodeMessage[] {
  const reading = new MessageReading(sessionId)
  for (const event of log) reading.take(event)
  return reading.messages
}

/** Reads a log event by event; `messages` grows to the result of `opencodeMessages`. */
export class MessageReading {
  readonly messages: { info: Record<string, unknown>; parts: Part[] }[] = []
  readonly #sessionId: string
  /** By prompt id. */
  readonly #answers = new Map<unknown, Answer>()
  #answer: Answer | undefined

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Id of the message that the active run is writing; undefined without an active run. */
  get answerId(): string | undefined {
    return this.#answer && String(this.#answer.info['id'])
  }

  /** Drops the parts that no later event changes, for readers that only need the changes. */
  dropSettled(): void {
    for (const { parts } of this.messages) {
      if (parts.length > 0) parts.splice(0, parts.length, ...parts.filter(isOpen))
    }
  }

  take(event: SessionEvent): Touched {
    if (isOfThread(event)) return untouched
    if (event.type === 'user.message' || event.type === 'user.compact') {
      // A waiting prompt precedes the runs that follow it, and its answer directly follows it.
      const message = userMessage(this.#sessionId, event)
      this.messages.push(message)
      return message
    }
    if (event.type !== 'session.status_running') return this.#continue(event)
    // The run continues after an approval.
    const { prompt_id: promptId } = event
    if (this.#answer && (promptId === undefined || promptId === this.#answer.info['parentID'])) return untouched
    this.#answer = this.#begin(event)
    return { info: this.#answer.info, parts: [] }
  }

  #begin(event: SessionEvent): Answer {
    const promptId = event.prompt_id
    const paused = this.#answers.get(promptId)
    if (paused) return reopened(paused)
    // Nearly always the last one.
    const prompt = this.messages.findLastIndex(({ info }) => info['id'] === promptId)
    const answer = newAnswer(this.#sessionId, event, this.messages[prompt]?.info)
    this.messages.splice(prompt < 0 ? this.messages.length : prompt + 1, 0, answer)
    this.#answers.set(promptId, answer)
    return answer
  }

  #continue(event: SessionEvent): Touched {
    const isEnd = endsRun(event)
    // The end of a prompt that was cancelled while a budget stopped it arrives without an active answer.
    const answer = this.#answer ?? (isEnd ? this.#answers.get(event.prompt_id) : undefined)
    if (isEnd) this.#answer = undefined
    return answer ? extend(answer, event) : untouched
  }
}

/** True for a tool call without a result. */
const isOpen = ({ type, state }: Part): boolean =>
  type === 'tool' && (state as { readonly status: string }).status === 'running'

const millis = ({ processed_at }: SessionEvent): number => Date.parse(processed_at)

/** Returns `msg_` with the time-ordered rest of another id, so that messages sort like the log. */
const messageId = (id: string): string => `msg_${id.slice(id.indexOf('_') + 1)}`

/** Returns the id of the part for an event. */
export const partIdOf = (eventId: string): string => `prt_${eventId.slice(eventId.indexOf('_') + 1)}`

function userMessage(sessionId: string, event: EventOf<'user.message' | 'user.compact'>) {
  const id = event.prompt_id ?? messageId(event.id)
  const said = event.type === 'user.message' ? event.content.map(saidPart) : []
  const parts = event.type === 'user.compact' ? [{ type: 'compaction', auto: false }] : said
  return {
    info: {
      id,
      sessionID: sessionId,
      role: 'user',
      time: { created: millis(event) },
      agent: 'builtin',
      model: { providerID: 'switchyard', modelID: event.model ?? '' },
    },
    parts: parts.map((part, at) => ({ id: `prt_${id}_${at}`, sessionID: sessionId, messageID: id, ...part })),
  }
}

function saidPart(part: EventOf<'user.message'>['content'][number]): Part {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { media_type: mime, name: filename, path } = part
  return { type: 'file', mime, filename, url: `file:///workspace/${encodeURI(path)}` }
}

function newAnswer(sessionId: string, event: SessionEvent, prompt: Record<string, unknown> | undefined): Answer {
  const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
  const model = prompt?.['model'] as { modelID?: string } | undefined
  const info = {
    id: messageId(event.id),
    sessionID: sessionId,
    role: 'assistant',
    parentID: event.prompt_id ?? '',
    modelID: model?.modelID ?? '',
    providerID: 'switchyard',
    mode: 'build',
    agent: 'builtin',
    path: { cwd: '/workspace', root: '/workspace' },
    cost: 0,
    tokens,
    time: { created: millis(event) },
  }
  return { info, parts: [], tokens }
}

/** Reopens the answer of a run that a budget had stopped. */
function reopened(answer: Answer): Answer {
  const { created } = answer.info['time'] as { created: number }
  answer.info['time'] = { created }
  delete answer.info['error']
  return answer
}

function extend(answer: Answer, event: SessionEvent): Touched {
  const part = (fields: Part): Touched => {
    const messageID = answer.info['id']
    const sessionID = answer.info['sessionID']
    const added = { id: partIdOf(event.id), sessionID, messageID, ...fields }
    answer.parts.push(added)
    return { parts: [added] }
  }
  const atOnce = { start: millis(event), end: millis(event) }
  switch (event.type) {
    case 'agent.message':
      return part({ type: 'text', text: textOf(event.content), time: atOnce })
    case 'agent.thinking':
      return part({ type: 'reasoning', text: textOf(event.content), time: atOnce })
    case 'agent.tool_use':
    case 'agent.mcp_tool_use':
    case 'agent.custom_tool_use':
      return part({
        type: 'tool',
        callID: event.tool_use_id ?? event.id,
        tool: event.name,
        state: { status: 'running', input: event.input, time: { start: millis(event) } },
      })
    case 'agent.tool_result':
    case 'agent.mcp_tool_result':
    case 'user.custom_tool_result':
      return settleTool(answer, event)
    case 'agent.thread_context_compacted':
      if (event.reason !== 'request') return part({ type: 'compaction', auto: true })
      answer.info['summary'] = true
      return { ...part({ type: 'text', text: event.summary ?? '', time: atOnce }), info: answer.info }
    case 'span.model_request_end':
      addTokens(answer, event.model_usage)
      return { info: answer.info, parts: [] }
    default:
      return settleRun(answer, event)
  }
}

function settleTool({ parts }: Answer, event: SessionEvent): Touched {
  const callId = event.tool_use_id ?? event.mcp_tool_use_id ?? event.custom_tool_use_id
  const tool = parts.findLast(({ type, callID }) => type === 'tool' && callID === callId)
  if (!tool) return untouched
  const { input, time } = tool['state'] as { input: unknown; time: { start: number } }
  const text = textOf(event.content)
  const settled = { input, time: { ...time, end: millis(event) } }
  tool['state'] = event.is_error
    ? { status: 'error', ...settled, error: text }
    : { status: 'completed', ...settled, output: text, title: String(tool['tool']), metadata: { output: text } }
  return { parts: [tool] }
}

function settleRun({ info }: Answer, event: SessionEvent): Touched {
  if (!endsRun(event)) return untouched
  info['time'] = { ...(info['time'] as object), completed: millis(event) }
  if (event.type === 'session.error') {
    const { type, message } = event.error
    info['error'] =
      type === 'invalid_result_error'
        ? { name: 'StructuredOutputError', data: { message, retries: 1 } }
        : { name: 'UnknownError', data: { message } }
  } else if (budgetReached(event)) {
    const message = event.stop_details?.message ?? 'budget exceeded'
    const data = { message, statusCode: 402, isRetryable: true }
    info['error'] = { name: 'APIError', data }
  } else if (event.type === 'session.deleted' || event.stop_details?.type === 'interrupted') {
    info['error'] = { name: 'MessageAbortedError', data: { message: 'aborted' } }
  } else {
    info['finish'] = 'stop'
    if (event.result !== undefined) info['structured'] = event.result
  }
  return { info, parts: [] }
}

function addTokens({ tokens }: Answer, usage: EventOf<'span.model_request_end'>['model_usage']): void {
  tokens.input += usage?.input_tokens ?? 0
  tokens.output += usage?.output_tokens ?? 0
  tokens.cache.read += usage?.cache_read_input_tokens ?? 0
  tokens.cache.write += usage?.cache_creation_input_tokens ?? 0
}

/** Returns the text of content blocks; thinking blocks have it in `thinking`. */
const textOf = (content: Content = []): string =>
  content.map(block => String(textOfBlock(block) ?? ('thinking' in block ? block['thinking'] : ''))).join('')

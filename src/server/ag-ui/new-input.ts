import { createHash } from 'node:crypto'
import type { AgUiMessage, AgUiResume, AgUiRunInput } from '../../contract/ag-ui-input.ts'
import { maxCustomResultChars } from '../../contract/custom-tools.ts'
import type { SentEvent, UserContent } from '../../contract/event-routes.ts'
import { invalid } from '../platform/errors.ts'
import { isAbsent, isRecord } from '../platform/json.ts'
import { contentOf } from './content.ts'
import type { ThreadCall } from './thread-calls.ts'

type AnswerEvent = Extract<SentEvent, { type: 'user.tool_confirmation' | 'user.custom_tool_result' }>
/** An answer, and the path of its content in the input. */
interface PlacedAnswer {
  readonly event: AnswerEvent
  readonly place: string
}

type ToolResultContent = Extract<SentEvent, { type: 'user.custom_tool_result' }>['content']

/** What an input adds to its thread. */
export interface NewInput {
  /** Answers, and then the messages of the user as one. */
  readonly events: readonly SentEvent[]
  /** Paths of their contents in the input. */
  readonly places: readonly string[]
  /** Ids of the messages of the user. */
  readonly messageIds: readonly string[]
  /** Paths of entries of the input that have no effect. */
  readonly ignored: readonly string[]
}

interface Known {
  /** Calls of the thread that wait for an answer. */
  readonly questions: readonly ThreadCall[]
  /** True for the message of a user that an earlier run has sent. */
  readonly isKnown: (messageId: string) => boolean
}

/**
 * Returns what is new in an input: answers to the open questions, and the messages of the user after the last answer of the agent.
 * What came before is the history of the front-end; the log of the session decides. Throws `invalid_request`.
 */
export function newInput({ messages, resume }: AgUiRunInput, { questions, isKnown }: Known): NewInput {
  const approvals = questions.filter(({ isClient }) => !isClient)
  const calls = questions.filter(({ isClient }) => isClient)
  const entries = resume ?? []
  const confirmed = approvals.map(call => confirmationOf(call, entries))
  const results = calls.map(call => resultOf(call, messages))
  const said = newMessages(messages, isKnown)
  const stale = entries.flatMap(({ interruptId }, at) =>
    approvals.some(({ id }) => id === interruptId) ? [] : [`resume[${at}]`],
  )
  const content = said.added.flatMap(({ message, at }) => userContent(message, `messages[${at}]`))
  return {
    events: [
      ...confirmed,
      ...results.map(({ event }) => event),
      ...(content.length > 0 ? [{ type: 'user.message', content } as const] : []),
    ],
    places: [
      ...confirmed.map(() => 'resume'),
      ...results.map(({ place }) => place),
      `messages[${said.added.at(-1)?.at}].content`,
    ],
    messageIds: said.added.map(({ message }) => message.id),
    ignored: [...stale, ...said.unknown.map(at => `messages[${at}]`)],
  }
}

/** Returns the SHA-256 of what identifies an input: not of the messages of the agent, which grow during a run. */
export function inputHash({ messages, resume }: AgUiRunInput): Buffer {
  const own = messages.flatMap(({ role, id }) => (role === 'user' ? [id] : []))
  return createHash('sha256')
    .update(JSON.stringify([own, resume ?? []]))
    .digest()
}

interface Placed {
  readonly message: AgUiMessage
  /** Position in the input. */
  readonly at: number
}

/** Returns the new messages of the user, and the positions of earlier ones that no run has sent. */
function newMessages(messages: readonly AgUiMessage[], isKnown: Known['isKnown']) {
  const answered = messages.findLastIndex(({ role }) => role === 'assistant')
  const added: Placed[] = []
  const unknown: number[] = []
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'user' || isKnown(message.id)) continue
    if (at > answered) added.push({ message, at })
    else unknown.push(at)
  }
  return { added, unknown }
}

function userContent(message: AgUiMessage, place: string): UserContent[] {
  const content = contentOf(message, place)
  if (content.length === 0) throw invalid(`${place}.content must not be blank`)
  return content
}

function resultOf({ id, name }: ThreadCall, messages: readonly AgUiMessage[]): PlacedAnswer {
  const at = messages.findLastIndex(({ role, toolCallId }) => role === 'tool' && toolCallId === id)
  const message = messages[at]
  if (!message)
    throw invalid(
      `messages must have the result of tool call ${id} (${name}): a message with role "tool" and this toolCallId`,
    )
  const place = `messages[${at}]`
  const sent = contentOf(message, place)
  if (sent.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0) > maxCustomResultChars)
    throw invalid(`${place}.content must have at most ${maxCustomResultChars} characters; send a shorter result`)
  const failure = isAbsent(message.error) ? [] : [{ type: 'text' as const, text: message.error }]
  const event: AnswerEvent = {
    type: 'user.custom_tool_result',
    custom_tool_use_id: id,
    content: [...sent, ...failure].flatMap((part, index) => resultPart(part, `${place}.content[${index}]`)),
    ...(failure.length > 0 && { is_error: true }),
  }
  return { event, place: `${place}.content` }
}

type ResultPart = NonNullable<ToolResultContent>[number]

/** A tool returns images and documents as the model reads them. */
function resultPart(part: UserContent, place: string): ResultPart[] {
  if (part.type === 'text') return part.text === '' ? [] : [part]
  if (part.type !== 'file' || part.data === undefined)
    throw invalid(`${place} must be a text, or an image or a document in a source of type data`)
  const source = {
    type: 'base64',
    data: part.data,
    ...(part.media_type !== undefined && { media_type: part.media_type }),
  }
  return [{ type: part.media_type?.startsWith('image/') ? 'image' : 'document', source }]
}

function confirmationOf({ id, name }: ThreadCall, entries: readonly AgUiResume[]): AnswerEvent {
  const at = entries.findLastIndex(({ interruptId }) => interruptId === id)
  const entry = entries[at]
  if (!entry) throw invalid(`resume must answer interrupt ${id} (${name}), which waits for approval`)
  if (entry.status === 'cancelled')
    return { type: 'user.tool_confirmation', tool_use_id: id, result: 'deny', deny_message: 'the user gave no answer' }
  return decisionIn(entry.payload, id, `resume[${at}].payload`)
}

const maxReasonChars = 10_000

function decisionIn(payload: unknown, tool_use_id: string, field: string): AnswerEvent {
  const { approved, reason, editedArgs } = isRecord(payload) ? payload : { approved: payload }
  if (typeof approved !== 'boolean')
    throw invalid(`${field}.approved must be true or false: {"approved": true} allows the call`)
  if (!isAbsent(reason) && (typeof reason !== 'string' || reason.length > maxReasonChars))
    throw invalid(`${field}.reason must be a text of at most ${maxReasonChars} characters`)
  if (!isAbsent(editedArgs) && (!isRecord(editedArgs) || !approved))
    throw invalid(`${field}.editedArgs must be an object, together with "approved": true`)
  if (approved)
    return {
      type: 'user.tool_confirmation',
      tool_use_id,
      result: 'allow',
      ...(!isAbsent(editedArgs) && { input: editedArgs }),
    }
  return {
    type: 'user.tool_confirmation',
    tool_use_id,
    result: 'deny',
    ...(!isAbsent(reason) && { deny_message: String(reason) }),
  }
}

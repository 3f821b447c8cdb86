import { type Fields, isRecord, parseJson, recordOf } from '../../../data/json.ts'
import { type Format, listOf, type PlaygroundForm, textOf } from './form.ts'
import { loadChat } from './load-chat.ts'
import { loadMessages } from './load-messages.ts'
import type { LoadedContent } from './load-parts.ts'
import { loadResponses } from './load-responses.ts'

/** A form that repeats a recorded call. */
export interface LoadedCall {
  readonly format: Format
  readonly model: string
  readonly form: PlaygroundForm
  /** What the form does not carry over. */
  readonly notes: readonly string[]
}

/** The recorded bodies cannot fill the form. */
export class CannotLoad extends Error {
  override readonly name = 'CannotLoad'
}

interface RecordedBody {
  readonly body: string | null
  readonly truncated: boolean
}

const loaders: Readonly<Record<Format, (body: Fields) => LoadedContent>> = {
  messages: loadMessages,
  chat: loadChat,
  responses: loadResponses,
}

/** Reads the recorded bodies of a call. Throws CannotLoad for a call that the playground cannot repeat. */
export function loadForm(request: RecordedBody, response: RecordedBody, base: PlaygroundForm): LoadedCall {
  if (request.body === null) throw new CannotLoad('the request of this call was not text')
  if (request.truncated)
    throw new CannotLoad('the request of this call is longer than the 256 KB that the service records')
  const body = parseJson(request.body).value
  if (!isRecord(body)) throw new CannotLoad('the recorded request is not a JSON object')
  const format = formatOf(body, response.body ?? '')
  if (!format) throw new CannotLoad('this call has another format than Messages, Chat Completions or Responses')
  const { system, turns, settings, rest, notes } = loaders[format](body)
  return {
    format,
    model: textOf(body['model']),
    form: {
      ...base,
      system,
      turns: turns.map((turn, at) => ({ id: `loaded-${at}`, ...turn })),
      ...settings,
      tools: listOf(body['tools']).length === 0 ? '' : JSON.stringify(body['tools'], null, 2),
      others: Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2),
    },
    notes,
  }
}

/** Records have no path, so the answer decides, then the request. */
function formatOf(body: Fields, answer: string): Format | undefined {
  const start = answer.slice(0, 4000)
  if (/"object":\s*"chat\.completion/.test(start)) return 'chat'
  if (/"type":\s*"message(_start)?"/.test(start) && 'messages' in body) return 'messages'
  if (/"object":\s*"response"/.test(start)) return 'responses'
  if ('input' in body) return isEmbedding(body, start) ? undefined : 'responses'
  if (!Array.isArray(body['messages'])) return undefined
  return isChat(body) ? 'chat' : 'messages'
}

const isEmbedding = (body: Fields, answer: string): boolean =>
  'encoding_format' in body || 'dimensions' in body || /"object":\s*"list"/.test(answer)

const chatFields = ['max_completion_tokens', 'stream_options', 'response_format', 'reasoning_effort', 'n', 'stop']

const isChat = (body: Fields): boolean =>
  chatFields.some(name => name in body) ||
  listOf(body['messages'])
    .map(recordOf)
    .some(
      ({ role, tool_calls: calls }) => ['system', 'developer', 'tool'].includes(textOf(role)) || calls !== undefined,
    )

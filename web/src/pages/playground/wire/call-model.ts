import { apiErrorOf } from '../../../../../src/client/failures.ts'
import { ServiceUnreachable } from '../../../../../src/client/index.ts'
import { sseReader } from '../../../../../src/contract/sse.ts'
import { consoleFetch } from '../../../data/client.ts'
import type { Fields } from '../../../data/json.ts'
import { type Answer, type AnswerReader, emptyAnswer, frameOf } from './answer.ts'
import type { Format } from './form.ts'
import { readChat } from './read-chat.ts'
import { readMessages } from './read-messages.ts'
import { readResponses } from './read-responses.ts'
import { paths } from './request.ts'

const readers: Readonly<Record<Format, AnswerReader>> = {
  messages: readMessages,
  chat: readChat,
  responses: readResponses,
}

/** What the headers of an answer say about its call. */
export interface CallHeaders {
  readonly requestId: string | undefined
  readonly deployment: string | undefined
  readonly attempts: number | undefined
  /** `path=action` of each thing that the translation approximated. */
  readonly degraded: readonly string[]
  readonly budgetWarning: string | undefined
  readonly cache: string | undefined
  readonly hook: string | undefined
  readonly isFromUpstream: boolean
}

function headersOf({ headers }: Response): CallHeaders {
  const value = (name: string): string | undefined => headers.get(`x-switchyard-${name}`) ?? undefined
  const attempts = value('attempts')
  return {
    requestId: value('request-id'),
    deployment: value('deployment'),
    attempts: attempts === undefined ? undefined : Number(attempts),
    degraded: (value('degraded') ?? '').split(', ').filter(each => each !== ''),
    budgetWarning: value('budget-warning'),
    cache: value('cache'),
    hook: value('hook'),
    isFromUpstream: value('error-source') === 'upstream',
  }
}

interface Call {
  readonly format: Format
  readonly body: Fields
  /** Aborting disconnects, and the service then stops the call at the provider. */
  readonly signal: AbortSignal
  readonly onHeaders: (headers: CallHeaders) => void
  readonly onAnswer: (answer: Answer) => void
}

/** Sends a streamed request and reports the answer as it arrives. Rejects when it fails or ends early. */
export async function callModel({ format, body, signal, onHeaders, onAnswer }: Call): Promise<void> {
  const response = await send(paths[format], body, signal)
  onHeaders(headersOf(response))
  if (!response.ok) throw await apiErrorOf(response)
  const frames = sseReader()
  let answer = emptyAnswer
  for await (const text of textOf(response)) {
    for (const frame of frames(text)) {
      const read = frameOf(frame)
      if (read) answer = readers[format](answer, read)
    }
    onAnswer(answer)
    if (answer.error) throw answer.error
  }
  if (!answer.isComplete) throw new AnswerTruncated('the answer ended before its last event')
}

/** The connection closed in the middle of an answer. */
export class AnswerTruncated extends Error {
  override readonly name = 'AnswerTruncated'
}

async function send(path: string, body: Fields, signal: AbortSignal): Promise<Response> {
  try {
    return await consoleFetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
  } catch (error) {
    throw signal.aborted ? error : new ServiceUnreachable('', error)
  }
}

async function* textOf({ body }: Response): AsyncGenerator<string> {
  const reader = body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    yield decoder.decode(read.value, { stream: true })
  }
}

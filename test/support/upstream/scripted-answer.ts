import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dialect } from './dialects/dialect.ts'
import { fullUsage, type ScriptedBlock, type ScriptedMessage } from './message-frames.ts'

/** One scripted answer. Without any field it is the text "ok". */
export interface Answer {
  readonly text?: string
  /** True: no content at all. */
  readonly isEmpty?: true
  /** Thinking with a made-up signature, before the text. */
  readonly thinking?: string
  readonly tool_calls?: readonly { readonly name: string; readonly input: unknown; readonly id?: string }[]
  readonly stopReason?: string
  readonly usage?: Readonly<Record<string, unknown>>
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is, instead of a message. */
  readonly body?: string | Buffer
  /** Sent as the frames of a stream, each in its own piece, instead of a message. */
  readonly frames?: readonly (string | Buffer)[]
  /** An error in the format of the protocol, with `status`. */
  readonly error?: string
  /** Ends the stream with an error of the protocol after so many frames. */
  readonly breakAtFrame?: number
  /** Wait before the head. */
  readonly delayMs?: number
  /** Wait between the frames of a stream. */
  readonly chunkDelayMs?: number
  /** Waits before the frame of that number, counted from 0, until `release()`. */
  readonly pauseAtFrame?: number
  /** Ends the answer cleanly after so many bytes of its body. */
  readonly cutAfterBytes?: number
  /** Destroys the connection after so many bytes of its body; 0 comes before the head. */
  readonly resetAfterBytes?: number
}

interface Play {
  readonly answer: Answer
  readonly request: Readonly<Record<string, unknown>>
  readonly dialect: Dialect
  readonly isStream: boolean
  readonly response: ServerResponse
  /** Unique for each answer of a server. */
  readonly index: number
  /** Waits for `release()`. */
  readonly hold: () => Promise<void>
}

/** Sends `answer`. The output tokens that a whole one states, 0 for any other. */
export async function play({ answer, request, dialect, isStream, response, index, hold }: Play): Promise<number> {
  if (answer.delayMs !== undefined) await sleep(answer.delayMs)
  if (answer.resetAfterBytes === 0) {
    response.destroy()
    return 0
  }
  const message = messageOf(answer, request, index)
  const { type, body } = said({ answer, dialect, message, isStream })
  response.writeHead(answer.status ?? 200, {
    'content-type': type,
    'request-id': `req_upstream_${index}`,
    ...answer.headers,
  })
  if (isStream) response.flushHeaders()
  const isWhole = await send(response, body, { ...answer, hold })
  return isWhole && answer.body === undefined ? message.usage.output_tokens : 0
}

interface Said {
  readonly answer: Answer
  readonly dialect: Dialect
  readonly message: ScriptedMessage
  readonly isStream: boolean
}

function said({ answer, dialect, message, isStream }: Said): { type: string; body: Buffer[] } {
  const { body, error, frames, status = 200, breakAtFrame } = answer
  const json = 'application/json'
  if (body !== undefined) return { type: json, body: [Buffer.from(body)] }
  if (error !== undefined) return { type: json, body: [Buffer.from(JSON.stringify(dialect.error(status, error)))] }
  if (!isStream || status >= 300) return { type: json, body: [Buffer.from(JSON.stringify(dialect.whole(message)))] }
  const spoken = frames?.map(frame => Buffer.from(frame)) ?? dialect.frames(message)
  const kept = breakAtFrame === undefined ? spoken : [...spoken.slice(0, breakAtFrame), dialect.brokenFrame]
  return { type: dialect.streamType, body: [...kept] }
}

type Pace = Pick<Answer, 'chunkDelayMs' | 'pauseAtFrame' | 'cutAfterBytes' | 'resetAfterBytes'> & Pick<Play, 'hold'>

async function send(response: ServerResponse, frames: readonly Buffer[], pace: Pace): Promise<boolean> {
  const limit = pace.resetAfterBytes ?? pace.cutAfterBytes ?? Number.POSITIVE_INFINITY
  let sent = 0
  for (const [number, frame] of frames.entries()) {
    if (pace.pauseAtFrame === number) await pace.hold()
    if (response.destroyed) return false
    const part = frame.subarray(0, Math.max(0, limit - sent))
    if (part.length > 0) await new Promise(done => response.write(part, done))
    sent += part.length
    if (sent >= limit) break
    if (pace.chunkDelayMs !== undefined) await sleep(pace.chunkDelayMs)
  }
  if (sent >= limit && pace.resetAfterBytes !== undefined) response.destroy()
  else response.end()
  return sent < limit
}

function messageOf(answer: Answer, request: Readonly<Record<string, unknown>>, index: number): ScriptedMessage {
  const calls = answer.tool_calls ?? []
  const isSilent = calls.length > 0 || answer.thinking !== undefined || answer.isEmpty === true
  const text = answer.text ?? (isSilent ? undefined : 'ok')
  const content: ScriptedBlock[] = [
    ...(answer.thinking === undefined
      ? []
      : [{ type: 'thinking' as const, thinking: answer.thinking, signature: `sig_${index}` }]),
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, name, input }, at) => ({
      type: 'tool_use' as const,
      id: id ?? `toolu_${index}_${at}`,
      name,
      input,
    })),
  ]
  return {
    id: `msg_upstream_${index}`,
    type: 'message',
    role: 'assistant',
    model: String(request['model']),
    content,
    stop_reason: answer.stopReason ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: { ...fullUsage(25, 10), ...answer.usage },
  }
}

import assert from 'node:assert/strict'
import { sseReader } from '../../../src/contract/sse.ts'

type Fields = Readonly<Record<string, unknown>>

interface Part {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: Fields }
}

interface Chunk {
  readonly candidates?: readonly {
    readonly content?: { readonly parts: readonly Part[] }
    readonly finishReason?: string
  }[]
  readonly usageMetadata?: Fields
  readonly promptFeedback?: Fields
  readonly error?: Fields
}

/** The assembled content of an answer in Gemini’s format. */
export interface ReadGemini {
  readonly text: string
  readonly thinking: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: Fields }[]
  readonly signatures: readonly string[]
  readonly finish: string | undefined
  readonly usage: Fields | undefined
  readonly blocked: unknown
  /** The error that ended the stream, if one did. */
  readonly error: Fields | undefined
  readonly frames: number
}

/** Reads chunks of an event stream as Google's clients do: only `data: ` lines, one a frame. */
export function readGeminiStream(body: string): ReadGemini {
  assert.ok(body.endsWith('\n\n'), 'the stream ends with a whole frame')
  for (const frame of body.slice(0, -2).split('\n\n')) assert.match(frame, /^data: [^\n]+$/)
  return readGeminiArray([...sseReader()(body)].map(({ data }) => JSON.parse(data) as unknown))
}

/** Reads chunks and asserts their grammar: one finish reason, in the last; or one error, and nothing more. */
export function readGeminiArray(given: readonly unknown[]): ReadGemini {
  const chunks = given as readonly Chunk[]
  const last = chunks.at(-1)
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  const finishes = chunks.flatMap(({ candidates }) => candidates?.[0]?.finishReason ?? [])
  assert.ok(last?.error ? finishes.length === 0 : finishes.length === 1, 'there is one end')
  for (const { error } of chunks.slice(0, -1)) assert.equal(error, undefined, 'nothing comes after an error')
  const words = (isThought: boolean) =>
    parts.map(({ text = '', thought = false }) => (thought === isThought ? text : '')).join('')
  return {
    text: words(false),
    thinking: words(true),
    calls: parts.flatMap(({ functionCall: call }) =>
      call ? [{ id: call.id, name: call.name, input: call.args }] : [],
    ),
    signatures: parts.flatMap(({ thoughtSignature }) => thoughtSignature ?? []),
    finish: last?.candidates?.[0]?.finishReason,
    usage: last?.usageMetadata,
    blocked: last?.promptFeedback?.['blockReason'],
    error: last?.error,
    frames: chunks.length,
  }
}

import type { Answer } from './scripted-answer.ts'
import type { Recorded } from './scripted-upstream.ts'

/** How an upstream misbehaves with the credential that it was sent; asked for as `MODE:name` in a prompt. */
export const echoModes = [
  'status400',
  'status401',
  'status403',
  'status500',
  'html',
  'nojson',
  'early',
  'late',
] as const

const hex = (text: string): string => Buffer.from(text).toString('hex')
const percent = (text: string): string => hex(text).replaceAll(/../g, '%$&')

/** A value as an upstream may write it into an error: as it is, and encoded, alone or with the text around it. */
const writingsOf = (value: string): string[] => [
  value,
  ...['', ':', 'k: '].flatMap(before => [
    Buffer.from(before + value).toString('base64'),
    Buffer.from(before + value).toString('base64url'),
  ]),
  hex(value),
  hex(value).toUpperCase(),
  encodeURIComponent(value),
  percent(value),
  percent(value).toUpperCase(),
]

/**
 * Answers that repeat every header of the request, credentials included, in the place that the prompt names; "ok" without
 * one. `MODE:tool:<command>` has a command run.
 */
export function echoingScript({ headers, rawBody, body }: Recorded): Answer {
  const [, mode, command] = [...rawBody.toString().matchAll(/MODE:(\w+)(?::([^"]*))?/g)].at(-1) ?? []
  const echo = Object.entries(headers)
    .map(([name, value]) => `${name}: ${writingsOf(String(value)).join(' ')}`)
    .join(', ')
  const encoded = Buffer.from(String(headers['x-api-key'] ?? headers['authorization'] ?? '')).toString('base64')
  const echoed = {
    headers: { 'x-echo': echo, 'x-request-id': encoded.slice(0, 200), 'anthropic-ratelimit-x': hex(echo) },
  }
  const status = /^status(\d+)$/.exec(mode ?? '')?.[1]
  if (status !== undefined) return { status: Number(status), error: echo, ...echoed }
  if (mode === 'html') return { status: 502, body: `<html>${echo}</html>`, ...echoed }
  if (mode === 'nojson') return { body: `not JSON: ${echo}`, ...echoed }
  if (mode === 'early') return { frames: [errorFrame(echo)], ...echoed }
  if (mode === 'late') return { frames: [...begun, errorFrame(echo)], ...echoed }
  if (mode === 'said') return { frames: [...begun, ...restOf(echo)], ...echoed }
  const hasResult = JSON.stringify(body).includes('tool_result')
  if (mode === 'tool' && !hasResult) return { tool_calls: [{ name: 'bash', input: { command } }] }
  return {}
}

const frame = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const errorFrame = (message: string) => frame('error', { error: { type: 'api_error', message } })
const begun = [
  frame('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  }),
  frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'It begins well' } }),
]
/** An answer that continues to the end, with `text` in it and as its reason to stop. */
const restOf = (text: string) => [
  frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  frame('content_block_stop', { index: 0 }),
  frame('message_delta', {
    delta: { stop_reason: text.slice(0, 4_000), stop_sequence: null },
    usage: { output_tokens: 5 },
  }),
  frame('message_stop', {}),
]

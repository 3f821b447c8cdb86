// Requests and answers of Anthropic's format, as sender, upstream and receiver all know them.

/**
 * What the upstream answers, named in its path: JSON at once, or a stream, as fast as possible, paced, or
 * with a prompt beginning and the rest after one pause.
 */
export const kinds = ['json', 'burst', 'paced', 'prompt'] as const
export type Kind = (typeof kinds)[number]

/** Events of one stream. */
export const eventsPerStream = 100
/** The events that are text; the other five open and close the message. */
export const deltasPerStream = eventsPerStream - 5
/** Events of the beginning of a prompt stream, two of them text. */
export const promptEvents = 4
/** Between two events of a paced stream. */
export const paceMs = 20

const eventBytes = 140

/** The model's name in requests. */
const aliasOf = (kind: Kind): string => `bench/${kind}`

/** Where the upstream serves the calls of a kind in Anthropic's format: the base address decides what it answers. */
export const messagesBaseOf = (kind: Kind): string => `/messages/${kind}`

/** A request of about `bytes`, in the shape of an agent's: some prose, code, and output of tools with its escapes. */
export function requestBody(kind: Kind, bytes: number): Buffer {
  const messages: object[] = [{ role: 'user', content: 'Find out why the build fails, and mend it.' }]
  const output = `\u001b[31merror\u001b[0m in src/index.ts: expected "}" but found 'model'\n\tat parse (C:\\users\\me\\a.ts:17)\n`
  const stream = kind !== 'json'
  const whole = () =>
    JSON.stringify({ model: aliasOf(kind), max_tokens: 1024, stream, system: 'You are terse.', messages })
  for (let at = 0; whole().length < bytes; at++) {
    const id = `toolu_${at}`
    const room = Math.max(1, Math.min(8_000, bytes - whole().length - 300))
    const content = output.repeat(Math.ceil(room / output.length)).slice(0, room)
    messages.push({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'bash', input: { command: 'make' } }] })
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] })
  }
  return Buffer.from(whole())
}

const usage = {
  input_tokens: 700,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 200,
  service_tier: 'standard',
}
const message = { id: 'msg_01', type: 'message', role: 'assistant', model: 'bench', stop_sequence: null, usage }

/** Output of the model in the whole answer. */
export const answerText: string = 'All is well. '.repeat(52)

/** The whole answer of 1 KB. */
export const jsonAnswer: Buffer = Buffer.from(
  JSON.stringify({
    ...message,
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: answerText }],
  }),
)

const frame = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** The first events of a stream. */
export const openingFrames: readonly string[] = [
  frame({ type: 'message_start', message: { ...message, content: [], stop_reason: null } }),
  frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
]

/** The last events of a stream. */
export const closingFrames: readonly string[] = [
  frame({ type: 'content_block_stop', index: 0 }),
  frame({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 95 },
  }),
  frame({ type: 'message_stop' }),
]

/** The text of a text event: its number and the time, so that the receiver knows what is missing and how late it came. */
export const stampedText = (number: number): string =>
  `n${String(number).padStart(4, '0')}t${String(nowUs()).padStart(16, '0')}`

/** A text event with its stamp. */
export function deltaFrame(number: number): string {
  const text = stampedText(number)
  const spare =
    eventBytes - frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }).length
  return frame({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: text + '.'.repeat(Math.max(0, spare)) },
  })
}

/** All events of a stream. */
export const messagesFrames = (): string[] => [
  ...openingFrames,
  ...Array.from({ length: deltasPerStream }, (_, number) => deltaFrame(number)),
  ...closingFrames,
]

/** Microseconds of a clock that all processes of the machine share. */
export const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n)

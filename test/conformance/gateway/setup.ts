import type { TestContext } from 'node:test'
import type { Deployment, PriceSettings } from '../../../src/server/config/deployments.ts'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { type ReadStream, readStream } from '../../support/sessions/event-grammar.ts'
import type { Dialect } from '../../support/upstream/dialects/dialect.ts'
import { type Script, startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { type SpokenProtocol, spoken } from '../../support/upstream/spoken-protocols.ts'

/** Those that are not Anthropic's own: their answers go through the encoder. */
export const translated = ['openai-chat', 'openai-responses', 'gemini', 'bedrock-converse'] as const

export const dialectOf = (protocol: SpokenProtocol): Dialect => spoken[protocol].dialect

interface Options {
  /** What the upstream answers, in order; the last one for ever. */
  readonly script: Script
  readonly changes?: Partial<Deployment>
  readonly pingAfterMs?: number
  readonly countTokens?: number | 'absent'
  readonly prices?: Partial<PriceSettings>
}

/** A request that is legal everywhere. */
export const simple = { max_tokens: 512, messages: [{ role: 'user', content: 'hi' }] } as const

/** A gateway before one scripted upstream of `protocol`. Both end with the test. */
export async function startPair(t: TestContext, protocol: SpokenProtocol, options: Options) {
  const { script, changes, countTokens, ...rest } = options
  const { dialect, provider, model } = spoken[protocol]
  const upstream = await startScriptedUpstream({
    dialect,
    script,
    ...(countTokens !== undefined && { countTokens }),
  })
  const deployment = deploymentAt(upstream.url, { protocols: [protocol], provider, upstreamModel: model, ...changes })
  const app = await startGatewayApp({ deployments: [deployment], demo: false, ...rest })
  t.after(async () => {
    await app.stop()
    await upstream.stop()
  })
  const post = (body: object, init: Parameters<typeof app.post>[1] = {}) =>
    app.post({ model: 'test-model', ...simple, ...body }, init)
  return {
    app,
    upstream,
    post,
    /** The answer of a streamed call, its grammar checked. */
    async stream(body: object = {}): Promise<ReadStream> {
      return readStream(await (await post({ ...body, stream: true })).text())
    },
    /** The answer of a call that is not streamed. */
    async request<T = Message>(body: object = {}): Promise<T> {
      return (await (await post(body)).json()) as T
    },
    /** The body of the last request that the upstream got. */
    sent: <T = Readonly<Record<string, unknown>>>(): T => upstream.requests.at(-1)?.body as T,
    /** The same as text. */
    sentText: (): string => upstream.requests.at(-1)?.rawBody.toString() ?? '',
  }
}

/** A whole answer in Anthropic's format. */
export interface Message {
  readonly content: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[]
  readonly stop_reason: string
  readonly stop_sequence: string | null
  readonly usage: Readonly<Record<string, unknown>>
  readonly error?: { readonly type: string; readonly message: string }
}

/** The usage that a stream began with. */
export const usageAtStart = ({ events }: ReadStream): Readonly<Record<string, unknown>> =>
  (events[0]?.message?.['usage'] ?? {}) as Record<string, unknown>

/** A picture of one pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const imageBlock = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: pixel },
} as const

/** The start of a PDF, which is all that a gateway may read. */
export const pdf = Buffer.from('%PDF-1.4 conformance').toString('base64')

export const pdfBlock = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: pdf },
} as const

export const tool = {
  name: 'look',
  description: 'Looks at something',
  input_schema: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
} as const

/** A conversation in which `look` was called with id `toolu_1` and gave `content`. */
export const afterCall = (content: unknown, more: object = {}) => ({
  tools: [tool],
  messages: [
    { role: 'user', content: 'look at it' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { what: 'it' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content, ...more }] },
  ],
})

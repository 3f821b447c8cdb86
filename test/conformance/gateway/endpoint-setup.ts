import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Deployment } from '../../../src/server/config/deployments.ts'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { type NextAnswer, startEndpointUpstream } from '../../support/upstream/endpoint-upstream.ts'

/** A gateway whose models represent each kind of upstream of the other endpoints, and the upstream behind all of them. */
export async function startEndpoints() {
  const upstream = await startEndpointUpstream()
  const at = (alias: string, changes: Partial<Deployment> = {}) =>
    deploymentAt(`${upstream.url}/v1`, {
      id: `${alias}.1`,
      alias,
      upstreamModel: `up-${alias}`,
      provider: 'openai-compatible',
      protocols: ['openai-chat'],
      prices: { input: 1e-6, output: 2e-6 },
      ...changes,
    })
  const deployments = [
    at('text'),
    at('voice', { unitPrices: { character: 0.001 } }),
    at('ears', { unitPrices: { second: 0.01 } }),
    at('painter', { unitPrices: { image: 0.5 } }),
    at('ranker', { unitPrices: { query: 0.002 } }),
    at('openai/*', { provider: 'openai', upstreamModel: '*', protocols: ['openai-responses', 'openai-chat'] }),
    at('claude', { provider: 'anthropic', protocols: ['anthropic-messages'] }),
    at('co', { provider: 'cohere', apiBase: upstream.url }),
    at('azure', { provider: 'azure', apiBase: `${upstream.url}/openai/v1` }),
  ]
  const app = await startGatewayApp({ deployments, router: { retries: 0 } })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })

  const send = (path: string, body: object | string | FormData, headers: Record<string, string> = {}) =>
    body instanceof FormData
      ? fetch(`${app.url}${path}`, { method: 'POST', body, headers })
      : app.post(body, { path, headers })

  async function call(path: string, body: object | FormData, answer: NextAnswer) {
    const before = app.booked.length
    upstream.answer(answer)
    const response = await send(path, body)
    const bytes = Buffer.from(await response.arrayBuffer())
    const isOurs = response.headers.get('x-switchyard-error-source') === 'gateway'
    assert.ok(!isOurs, bytes.toString('utf8', 0, 500))
    await app.bookedCalls(before + 1)
    return { response, bytes, row: app.booked.at(-1) ?? assert.fail('the call is booked') }
  }

  return { upstream, app, at, send, call }
}

export const json = (value: object): NextAnswer => ({ body: JSON.stringify(value) })

export const frames = (...data: readonly (object | string)[]): NextAnswer => ({
  type: 'text/event-stream',
  body: data.map(each => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`),
})

/** A recording of that length, as a WAV file states it. */
export const wave = (seconds: number) => {
  const header = Buffer.alloc(44)
  header.write('RIFF')
  header.writeUInt32LE(8_000, 28)
  return Buffer.concat([header, Buffer.alloc(8_000 * seconds - 44)])
}

export function form(
  fields: Readonly<Record<string, string>>,
  files: Readonly<Record<string, Buffer>> = { file: wave(3) },
) {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  for (const [name, bytes] of Object.entries(files)) data.append(name, new Blob([new Uint8Array(bytes)]), 'a.bin')
  return data
}

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { Deployment } from '../../../src/server/config/deployments.ts'
import { readStream } from '../sessions/event-grammar.ts'
import { type Script, startScriptedUpstream } from '../upstream/scripted-upstream.ts'
import { deploymentAt, startGatewayApp } from './gateway-app.ts'

interface PairOptions {
  readonly deployment?: Partial<Deployment>
  readonly pingAfterMs?: number
  readonly maxStreams?: number
  readonly countTokens?: 'absent'
}

/** A gateway in front of a scripted upstream of Anthropic's format; both end with the file. */
export async function pair(script: Script, { deployment = {}, countTokens, ...rest }: PairOptions = {}) {
  const upstream = await startScriptedUpstream({ script, ...(countTokens && { countTokens }) })
  const apiBase = `${upstream.url}${deployment.apiBase ?? ''}`
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url, { ...deployment, apiBase })], ...rest })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })
  return { upstream, ...app }
}

/** A gateway in front of a plain server that answers any bytes. */
export async function rawPair(listener: RequestListener, { deployment }: Pick<PairOptions, 'deployment'> = {}) {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const app = await startGatewayApp({ deployments: [deploymentAt(`http://127.0.0.1:${port}`, deployment)] })
  after(async () => {
    await app.stop()
    server.closeAllConnections()
    server.close()
  })
  return app
}

/** The request that most tests make. */
export const simpleRequest = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }

/** The same, streamed. */
export const streamed = { ...simpleRequest, stream: true }

/** The content of a streamed answer; its grammar is asserted. */
export const textOf = async (answer: Response) => readStream(await answer.text())

import { isRecord } from '../../platform/json.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { closing, createConnection, type Dialect } from '../remote/connection.ts'
import { isFailureWithStatus, type RuntimeEndpoint } from '../runtime.ts'
import { type A2aApi, a2aApi } from './api.ts'
import { addressIn, cardUrl } from './card.ts'
import { credentialHeaders } from './credential.ts'
import { errorIn, unusable } from './protocol-errors.ts'

/** An agent that can be called, as its card describes it now. */
export interface Agent {
  readonly api: A2aApi
  /** The agent streams its tasks; otherwise they are polled. */
  readonly isStreaming: boolean
  close(): Promise<void>
}

export interface AgentDeps {
  readonly outbound: Pick<Outbound, 'connect'>
  /** Reports whether `outbound.allow` lists the host of an address. */
  readonly isListed: (url: string) => boolean
}

const version = { 'a2a-version': '1.0' }
const cardMs = 15_000

const dialectWith = (headers: Readonly<Record<string, string>>): Dialect => ({
  headers: () => ({ ...version, ...headers }),
  errorIn,
})

/** Reads the card of an agent and returns its client. Rejects with `RuntimeFailure`, or with the reason of the signal. */
export async function openAgent(
  { outbound, isListed }: AgentDeps,
  endpoint: RuntimeEndpoint,
  signal?: AbortSignal,
): Promise<Agent> {
  const card = await cardOf(outbound, endpoint, signal)
  const address = addressIn(card, { endpoint, isListed })
  const dialect = dialectWith(credentialHeaders(card, endpoint))
  const connection = createConnection(outbound, { ...endpoint, apiBase: address.url.origin }, dialect)
  return {
    api: a2aApi({ connection, address, endpoint }),
    isStreaming: address.isStreaming,
    close: () => connection.close(),
  }
}

/** Reads the card without the key; with it as a bearer token where the card needs one. */
async function cardOf(outbound: AgentDeps['outbound'], endpoint: RuntimeEndpoint, signal: AbortSignal | undefined) {
  const { apiKey } = endpoint
  try {
    return await readCard({})
  } catch (failure) {
    const isProtected = isFailureWithStatus(failure, 401) || isFailureWithStatus(failure, 403)
    if (!isProtected || apiKey === undefined) throw failure
    return readCard({ authorization: `Bearer ${apiKey}` })
  }

  async function readCard(headers: Readonly<Record<string, string>>) {
    const { origin, pathname } = cardUrl(endpoint)
    const connection = createConnection(outbound, { ...endpoint, apiBase: origin }, dialectWith(headers))
    const request = { method: 'GET', path: pathname, timeoutMs: cardMs, ...(signal && { signal }) } as const
    const card = await closing(connection, ({ json }) => json(request))
    if (!isRecord(card)) throw unusable('the agent card is not a JSON object')
    return card
  }
}

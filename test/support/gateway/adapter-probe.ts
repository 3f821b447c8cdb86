import type { Deployment } from '../../../src/server/config/deployments.ts'
import type { Call, CallKind, Outcome, Sink, UpstreamError } from '../../../src/server/gateway/core/call.ts'
import { readRequest } from '../../../src/server/gateway/core/request.ts'
import { createPassthrough } from '../../../src/server/gateway/passthrough/adapter.ts'
import type { PassthroughFormat } from '../../../src/server/gateway/passthrough/passthrough-format.ts'
import { type Authorize, createAuthorize } from '../../../src/server/gateway/upstream/authorize.ts'
import { createPools } from '../../../src/server/gateway/upstream/pools.ts'
import { createSend } from '../../../src/server/gateway/upstream/send.ts'
import { AppError } from '../../../src/server/platform/errors.ts'
import { createOutbound, type Lookup } from '../../../src/server/platform/outbound.ts'
import { targetAt } from './gateway-app.ts'

interface Options {
  readonly format: PassthroughFormat
  readonly deployment: Deployment
  readonly pingAfterMs?: number
  readonly bufferMs?: number
  readonly authorize?: Authorize
  /** Instead of the system's resolver; the address is then not allowed by itself. */
  readonly lookup?: Lookup
}

type CallPart = Partial<Pick<Call, 'headers' | 'query' | 'signal' | 'address'>>

/** How a format adapter ended a call, and all that its client saw. */
export interface Result {
  /** Undefined when the adapter rejected. */
  readonly ending: Outcome | UpstreamError | undefined
  readonly error: AppError | undefined
  /** Of the head that went to the client; undefined when none did. */
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  readonly text: string
  /** How often the client was given a head, and an end. */
  readonly heads: number
  readonly ends: number
}

/** A sink that keeps what it gets. `onData` is called with all that has come so far. */
export function recordingSink(onData?: (text: string) => void) {
  const chunks: Buffer[] = []
  const seen = { status: undefined as number | undefined, headers: {}, heads: 0, ends: 0 }
  const take = (chunk: Buffer | undefined): void => {
    if (!chunk) return
    chunks.push(chunk)
    onData?.(text())
  }
  const text = (): string => Buffer.concat(chunks).toString('utf8')
  const sink: Sink = {
    head(status, headers) {
      Object.assign(seen, { status, headers, heads: seen.heads + 1 })
    },
    data(chunk) {
      take(chunk)
      return true
    },
    onDrain: () => undefined,
    end(chunk) {
      seen.ends++
      take(chunk)
    },
  }
  return { sink, seen: () => ({ ...seen, text: text(), bytes: Buffer.concat(chunks) }) }
}

/** Calls one deployment through the passthrough adapter alone: no HTTP server, no router. */
export function probeMode({ format, deployment, pingAfterMs = 15_000, bufferMs = 2_000, lookup, ...rest }: Options) {
  const allow = lookup ? [] : [new URL(deployment.apiBase).host]
  const pools = createPools(createOutbound({ allow, ...(lookup && { lookup }) }))
  const send = createSend({ pools, authorize: rest.authorize ?? createAuthorize() })
  const adapter = createPassthrough({ format, send, pingAfterMs, bufferMs })

  return {
    async call(
      kind: CallKind,
      request: object | string,
      { onData, ...part }: CallPart & { onData?: (text: string) => void } = {},
    ): Promise<Result> {
      const body = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request))
      const parsed = readRequest({ kind, body, ...(part.address && { address: part.address }) })
      const { alias, upstreamModel } = deployment
      const { sink, seen } = recordingSink(onData)
      const call: Call = {
        kind,
        body,
        headers: {},
        query: '',
        requestId: 'req_1',
        caller: { principal: 'key_1' },
        signal: new AbortController().signal,
        ...part,
      } as Call
      const target = targetAt(deployment, parsed.model === alias ? upstreamModel : parsed.model)
      const ownHeaders = { 'x-switchyard-request-id': call.requestId }
      try {
        const ending = await adapter({ call, parsed, target, ownHeaders, startedMs: performance.now() }, sink)
        return { ending, error: undefined, ...seen() }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { ending: undefined, error, ...seen() }
      }
    },
    close: pools.close,
  }
}

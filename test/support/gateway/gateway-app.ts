import type { AddressInfo } from 'node:net'
import type { Config, Hook } from '../../../src/server/config/config.ts'
import type { Deployment, PriceSettings, RouterSettings } from '../../../src/server/config/deployments.ts'
import { defaultPrices } from '../../../src/server/config/prices-of-file.ts'
import { defaultRouter } from '../../../src/server/config/router-of-file.ts'
import type { Target } from '../../../src/server/gateway/core/call.ts'
import { type AdapterFor, createFormatAdapters } from '../../../src/server/gateway/format-adapters.ts'
import { serveGemini } from '../../../src/server/gateway/formats/gemini/routes.ts'
import { createGateway } from '../../../src/server/gateway/gateway.ts'
import { createHookedGateway } from '../../../src/server/gateway/hooks/calls.ts'
import { serveOpenAi } from '../../../src/server/gateway/openai-routes.ts'
import { serveMessages, serveModels } from '../../../src/server/gateway/routes.ts'
import type { HintChannel } from '../../../src/server/gateway/routing/hints.ts'
import { createPools } from '../../../src/server/gateway/upstream/pools.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import type { pause } from '../../../src/server/platform/timers.ts'
import type { UsageRow } from '../../../src/server/usage/rows.ts'

interface Options {
  readonly deployments?: readonly Deployment[]
  readonly demo?: boolean
  readonly maxStreams?: number
  readonly pingAfterMs?: number
  /** 0 unless given: what was sent is all that is booked of an answer that broke. */
  readonly assumedOutputTokensPerSecond?: number
  /** Replaces the format adapters of the product. */
  readonly adapters?: (adapterFor: AdapterFor) => AdapterFor
  readonly router?: Partial<RouterSettings>
  readonly prices?: Partial<PriceSettings>
  readonly random?: () => number
  readonly wait?: typeof pause
  readonly nowMs?: () => number
  /** Never late unless given. */
  readonly loopDelayMs?: () => number
  readonly hints?: HintChannel
  /** The hosts of `deployments` unless given. */
  readonly allow?: Config['outboundAllow']
  /** None unless given. */
  readonly hooks?: readonly Hook[]
  /** The master key unless given. */
  readonly caller?: Caller
  /** None unless given. */
  readonly budgets?: NonNullable<Parameters<typeof createGateway>[0]['budgets']>
}

/** Starts a server with the gateway's routes alone, open to any caller, on a free port; bookings are kept in memory. */
export async function startGatewayApp({
  deployments = [],
  demo = true,
  maxStreams = 1000,
  pingAfterMs = 15_000,
  assumedOutputTokensPerSecond = 0,
  router = {},
  prices = {},
  adapters = adapterFor => adapterFor,
  loopDelayMs = () => 0,
  allow,
  hooks = [],
  caller = masterCaller,
  ...rest
}: Options = {}) {
  const booked: UsageRow[] = []
  const bookings = createWaiters(booked)
  const log = createLog('silent')
  const outbound = createOutbound({ allow: allow ?? deployments.map(({ apiBase }) => new URL(apiBase).host) })
  const pools = createPools(outbound)
  const limits = {
    maxStreams,
    maxSessions: 1,
    sessionEvents: 1_000_000,
    sessionBytes: 1_000_000_000,
    maxLoopDelayMs: 50,
    reserveBytesPerToken: 1,
    reserveServerToolCalls: 10,
    assumedOutputTokensPerSecond,
    maxBackgroundResponses: 50,
    backgroundQueuedPerKey: 100,
    responseCacheBytes: 1_000_000,
    batchCalls: 8,
    filesBytes: 1_000_000,
    reservationMs: 900_000,
  }
  const config = {
    deployments,
    demo,
    limits,
    router: { ...defaultRouter, ...router },
    prices: { ...defaultPrices, ...prices },
  }
  const calls = createGateway({
    config,
    pools,
    adapterFor: adapters(
      createFormatAdapters({
        pools,
        pingAfterMs,
        keyring: createKeyring([Buffer.alloc(32, 1)]),
        onRepair: failOnRepair,
      }),
    ),
    usage: {
      book(row) {
        booked.push(row)
        bookings.check()
      },
      room: () => undefined,
    },
    log,
    loopDelayMs,
    ...rest,
  })
  const { gateway } = createHookedGateway({ gateway: calls, hooks, outbound, log })
  const app = createServer({ authenticate: async () => caller, log })
  serveMessages(app, { gateway })
  serveOpenAi(app, { gateway })
  serveGemini(app, { gateway })
  serveModels(app, { gateway, modelsOf: async () => undefined })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    gateway,
    /** What the gateway began with. */
    config,
    booked: booked as readonly UsageRow[],
    /** Resolves once `count` calls have been booked. */
    bookedCalls: bookings.until,
    /** POST /v1/messages; `body` may be text, to set every byte. */
    post: (
      body: unknown,
      { path = '/v1/messages', ...init }: Omit<RequestInit, 'body' | 'method'> & { path?: string } = {},
    ) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        ...init,
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...init.headers },
      }),
    async stop(): Promise<void> {
      const closed = app.close()
      // A test that did not read its answer to the end would keep the server waiting for its connection.
      app.server.closeAllConnections()
      await closed
      await gateway.close()
    },
  }
}

/** What the encoder mends in production is a fault of a codec, or of a scripted answer. */
function failOnRepair(what: string): never {
  throw new Error(`the encoder was given ${what}`)
}

function createWaiters(rows: readonly unknown[]) {
  let waiting: { readonly count: number; readonly resolve: () => void }[] = []
  return {
    check() {
      for (const { count, resolve } of waiting) if (rows.length >= count) resolve()
      waiting = waiting.filter(({ count }) => rows.length < count)
    },
    until: (count: number) =>
      new Promise<void>(resolve => {
        if (rows.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
  }
}

/** A model at a deployment as calls in formats that it lacks get it. */
export const targetAt = (deployment: Deployment, upstreamModel = deployment.upstreamModel): Target => ({
  deployment,
  upstreamModel,
  protocol: deployment.protocols[0],
})

/** A deployment of Anthropic's format at `apiBase`, as a configuration would make it. */
export const deploymentAt = (apiBase: string, changes: Partial<Deployment> = {}): Deployment => ({
  id: 'test.1',
  alias: 'test-model',
  provider: 'anthropic',
  upstreamModel: 'test-model',
  protocols: ['anthropic-messages'],
  apiBase,
  apiKey: 'sk-provider-canary-0001',
  headers: {},
  weight: 1,
  timeouts: { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000 },
  ...changes,
})

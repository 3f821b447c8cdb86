import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { Config } from '../config/config.ts'
import type { Freezes } from '../controls/freezes.ts'
import type { Database } from '../db/database.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import type { Notifications } from '../db/notifications.ts'
import { createBackground } from '../gateway/background/background.ts'
import { createEnding } from '../gateway/background/ending.ts'
import { createEventReading } from '../gateway/background/event-reading.ts'
import { createRunBackground } from '../gateway/background/run.ts'
import { createBackgroundRunner } from '../gateway/background/runner.ts'
import { backgroundStore } from '../gateway/background/store.ts'
import { createEventStreams } from '../gateway/background/streams.ts'
import { createProviderBatches } from '../gateway/batching/provider-batches.ts'
import { createRecordedCalls } from '../gateway/body-log/recorded-calls.ts'
import { createBodyRecords } from '../gateway/body-log/records.ts'
import { serveCallBodies } from '../gateway/body-log/routes.ts'
import { bodiesStore } from '../gateway/body-log/store.ts'
import { createResponseCache } from '../gateway/cache/entries.ts'
import { responseCacheStore } from '../gateway/cache/store.ts'
import { type ObserveContent, observedContent } from '../gateway/call-content/observed-content.ts'
import type { CallKind } from '../gateway/core/call.ts'
import { serveDeployments } from '../gateway/deployment-routes.ts'
import { createFileCalls, type RequestFiles } from '../gateway/files/calls.ts'
import { createCopyCleanup } from '../gateway/files/copy-cleanup.ts'
import { createProviderCopies } from '../gateway/files/provider-copies.ts'
import { providerFileStore } from '../gateway/files/provider-file-store.ts'
import { createFormatAdapters } from '../gateway/format-adapters.ts'
import { serveGemini } from '../gateway/formats/gemini/routes.ts'
import { createGateway, type Gateway } from '../gateway/gateway.ts'
import { createHookedGateway } from '../gateway/hooks/calls.ts'
import { serveNative } from '../gateway/native-routes.ts'
import { isOfResponses, serveOpenAi } from '../gateway/openai-routes.ts'
import { createNative } from '../gateway/passthrough/native.ts'
import { createResponseCalls } from '../gateway/responses/calls.ts'
import { createStoredResponses } from '../gateway/responses/contents.ts'
import { createPreparation } from '../gateway/responses/preparation.ts'
import { serveResponses } from '../gateway/responses/routes.ts'
import { responseStore } from '../gateway/responses/store.ts'
import { createResponseRequests } from '../gateway/responses/upstream.ts'
import { serveMessages } from '../gateway/routes.ts'
import { createAuthorize } from '../gateway/upstream/authorize.ts'
import { createCredentialCheck } from '../gateway/upstream/check-credential.ts'
import { createGoogleTokens } from '../gateway/upstream/google-token.ts'
import { createPools } from '../gateway/upstream/pools.ts'
import { createSend } from '../gateway/upstream/send.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { Keys } from '../keys/keys.ts'
import { credentialStore } from '../model-settings/credential-store.ts'
import { deploymentStore } from '../model-settings/deployment-store.ts'
import { createModelSettings } from '../model-settings/model-settings.ts'
import { createModelsInForce } from '../model-settings/models-in-force.ts'
import { createProviders } from '../model-settings/providers.ts'
import { serveModelSettings, serveProviders } from '../model-settings/routes.ts'
import { createSettingsEncryption } from '../model-settings/stored-settings.ts'
import { changeChannel, settingsVersion } from '../model-settings/version-store.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { watchLoopDelay } from '../platform/loop-delay.ts'
import { watchOpenFiles } from '../platform/open-files.ts'
import { createOutbound } from '../platform/outbound.ts'
import { observedCall } from '../telemetry/observed.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { reportStore } from '../usage/report-store.ts'
import { serveUsage } from '../usage/routes.ts'
import type { Usage } from '../usage/usage.ts'

interface Needs {
  readonly config: Config
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  readonly db: Kysely<Database>
  readonly notifications: Notifications
  readonly audit: Audit
  readonly usage: Usage
  readonly budgets: Budgets
  readonly freezes: Freezes
  readonly telemetry: Telemetry
  /** Adds the trace context to calls. */
  readonly traced: (call: Gateway['call']) => Gateway['call']
  /** Files of callers, built later. */
  readonly files: () => RequestFiles
  /** Receives the content of calls; undefined where it is not wanted. */
  readonly observeContent: ObserveContent | undefined
  readonly keys: Pick<Keys, 'byId' | 'workerById' | 'watch'>
  /** Identifies this process among the replicas. */
  readonly owner: string
  /** Event streams of the process; built later. */
  readonly slots: () => StreamSlots
  /** Aborts when the process stops. */
  readonly shutdown: AbortSignal
}

/** The gateway: path of all model calls, models in force, and the current configuration. */
export function composeGateway(needs: Needs) {
  const { config, log, keyring, pool, db, notifications, audit, usage, budgets, freezes, telemetry } = needs
  const pools = createPools(createOutbound({ allow: config.outboundAllow }))
  const authorize = createAuthorize({ googleTokens: createGoogleTokens({ outbound: pools }) })
  const copyRows = providerFileStore(pool)
  const copies = createProviderCopies({
    store: copyRows,
    contentOf: file => needs.files().contentOf(file),
    outbound: pools,
    authorize,
    log,
    nowMs: () => performance.now(),
  })
  const adapterFor = createFormatAdapters({
    pools,
    keyring,
    copies,
    onRepair: (what, deployment) => log.warn({ what, deployment }, 'repaired a malformed upstream response'),
  })
  const loop = watchLoopDelay()
  const files = watchOpenFiles()
  let current = config
  const cache = createResponseCache({
    store: responseCacheStore(pool),
    cipher: createRowCipher(keyring, 'response_cache'),
    maxBytes: () => current.limits.responseCacheBytes,
    log,
  })
  const core = createGateway({
    loopDelayMs: () => loop.meanMs,
    shortage: () => files.shortage,
    config,
    pools,
    adapterFor,
    usage,
    budgets,
    freezes,
    cache,
    log,
    hints: notifications,
    onCooldown: telemetry.cooled,
  })

  const records = createBodyRecords({
    store: bodiesStore(pool),
    cipher: createRowCipher(keyring, 'call_bodies'),
    echoes: core.echoes,
    audit,
    log,
  })
  const recorded: Gateway = {
    ...core,
    ...createRecordedCalls({ gateway: core, records }),
    get streams() {
      return core.streams
    },
  }
  const guard = () => createOutbound({ allow: current.outboundAllow })
  // Outermost, so that text which hooks remove from a request is neither recorded nor cached.
  const observed: Gateway = {
    ...recorded,
    ...observedContent({ gateway: recorded, echoes: core.echoes, observe: needs.observeContent }),
    get streams() {
      return recorded.streams
    },
  }
  const hooked = createHookedGateway({ gateway: observed, hooks: config.hooks, outbound: guard(), log })
  const { call, batchRequest } = createFileCalls({ gateway: hooked.gateway, files: needs.files })
  const gateway: Gateway = {
    ...hooked.gateway,
    call: needs.traced(observedCall(call, telemetry)),
    batchRequest,
    get streams() {
      return hooked.gateway.streams
    },
  }

  const stored = createStoredResponses({
    store: responseStore(pool),
    cipher: createRowCipher(keyring, 'response_contents'),
    log,
  })
  const storePolicy = () => current.responseStore
  const preparation = createPreparation({ gateway, stored, storePolicy })

  // background responses
  const backgroundRows = backgroundStore(pool)
  const ciphers = {
    requests: createRowCipher(keyring, 'background_responses'),
    events: createRowCipher(keyring, 'background_events'),
    contents: createRowCipher(keyring, 'response_contents'),
  }
  const { keys, owner, slots, shutdown } = needs
  const ending = createEnding({ store: backgroundRows, ciphers })
  const reading = createEventReading({ store: backgroundRows, cipher: ciphers.events, notifications })
  const background = createBackground({
    store: backgroundRows,
    ciphers,
    ending,
    streams: createEventStreams({ reading, keys, slots, shutdown, log }),
    gateway,
    preparation,
    storePolicy,
    maxQueued: () => current.limits.backgroundQueuedPerKey,
  })
  const backgroundRunner = createBackgroundRunner({
    store: backgroundRows,
    run: createRunBackground({ store: backgroundRows, ending, ciphers, gateway, preparation, keys, log }),
    notifications,
    owner,
    maxRunning: () => current.limits.maxBackgroundResponses,
    log,
  })
  const responses = createResponseCalls({
    gateway,
    stored,
    preparation,
    storePolicy,
    startBackground: background.start,
  })

  const native = createNative({ gateway, send: createSend({ pools, authorize }), usage, budgets, freezes })

  // models and credentials that were stored through the API
  const encryption = createSettingsEncryption(keyring)
  const announce = () => notifications.send(changeChannel, '')
  const credentialRows = credentialStore(db, announce)
  const deploymentRows = deploymentStore(db, announce)
  const modelsInForce = createModelsInForce({
    config,
    read: async () => ({
      credentials: (await credentialRows.all()).map(encryption.decryptCredential),
      models: (await deploymentRows.all()).map(encryption.decryptModel),
    }),
    version: () => settingsVersion(pool),
    notifications,
    channel: changeChannel,
    apply: deployments => gateway.reload({ ...current, deployments }),
    log,
  })
  const modelProviders = createProviders({
    store: credentialRows,
    encryption,
    inForce: modelsInForce,
    audit,
    checkCredential: createCredentialCheck({
      outbound: pools,
      authorize,
    }),
  })
  const modelSettings = createModelSettings({ store: deploymentRows, encryption, inForce: modelsInForce, audit })

  const copyCleanup = createCopyCleanup({
    store: copyRows,
    deployments: () => gateway.allDeployments().flatMap(({ id }) => gateway.deployment(id) ?? []),
    outbound: pools,
    authorize,
    log,
  })

  const parts: readonly Part[] = [
    { name: 'event loop delay', stop: loop.stop },
    { name: 'gateway', stop: gateway.close },
    { name: 'models', start: modelsInForce.start, stop: modelsInForce.stop },
    { name: 'copies at providers', isSessionWork: true, start: copyCleanup.start, stop: copyCleanup.stop },
    {
      name: 'background responses',
      isSessionWork: true,
      start: backgroundRunner.start,
      drain: backgroundRunner.drain,
      stop: backgroundRunner.stop,
    },
  ]

  return {
    gateway,
    /** Returns where calls of a kind are made: those of the Responses format can continue from stored responses. */
    gatewayOf: (kind: CallKind) => (isOfResponses(kind) ? responses : gateway),
    background,
    /** The batch APIs of providers. */
    providerBatches: createProviderBatches({ outbound: pools, authorize }),
    loop,
    files,
    /** Outbound connections, checked by the current guard. */
    outbound: pools,
    guard,
    /** The configuration that was read last. */
    reloaded: () => current,
    /** Runtimes of the current configuration. */
    configuredRuntimes: () => current.runtimeHarnesses,
    /** Search provider of the current configuration. */
    webSearch: () => current.webSearch,
    /** Hosts of repositories in the current configuration. */
    gitHosts: () => current.gitHosts,
    /** MCP servers of the current configuration. */
    configuredMcpServers: () => current.mcpServers,
    defaultModel: () => gateway.models()[0]?.id ?? 'demo',
    /** Providers of the models in force. */
    providers: () => [...new Set(modelsInForce.now.deployments.map(({ provider }) => provider))],
    reload(next: Config) {
      const isAllowUnchanged = isDeepStrictEqual(next.outboundAllow, current.outboundAllow)
      current = next
      gateway.reload({ ...next, deployments: modelsInForce.take(next) }, isAllowUnchanged ? undefined : guard())
      hooked.reload({ hooks: next.hooks, outbound: guard() })
    },
    parts,
    serve(app: FastifyInstance) {
      serveMessages(app, { gateway })
      serveOpenAi(app, { gateway, responses })
      serveNative(app, { gateway, responses, native })
      const requestTo = createResponseRequests({ outbound: pools, authorize })
      serveResponses(app, { gateway, stored, background, requestTo })
      serveGemini(app, { gateway })
      serveUsage(app, { ledger: reportStore(db), records })
      serveCallBodies(app, { records })
      serveDeployments(app, { gateway, pool, audit })
      serveProviders(app, { providers: modelProviders })
      serveModelSettings(app, { models: modelSettings })
    },
  }
}

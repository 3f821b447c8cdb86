import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import type { ApiSpec } from '../../../src/contract/runtimes.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import type { ConfiguredHarness } from '../../../src/server/config/agent-settings.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { wholeEchoes } from '../../../src/server/platform/echoes.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import { createLog, type Log } from '../../../src/server/platform/log.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { createRuntimeChanges } from '../../../src/server/runtimes/registry/changes.ts'
import { createExternalRuntimes } from '../../../src/server/runtimes/registry/external-runtimes.ts'
import { createHealthChecks } from '../../../src/server/runtimes/registry/health-checks.ts'
import { createRuntimeKeyEncryption } from '../../../src/server/runtimes/registry/key-encryption.ts'
import { createProbes } from '../../../src/server/runtimes/registry/probes.ts'
import { createRegistry } from '../../../src/server/runtimes/registry/registry.ts'
import { serveRuntimes } from '../../../src/server/runtimes/registry/routes.ts'
import { runtimeStore } from '../../../src/server/runtimes/registry/store.ts'
import {
  idle,
  noCapabilities,
  type Runtime,
  type RuntimeEndpoint,
  type RuntimeKind,
} from '../../../src/server/runtimes/runtime.ts'
import { freshDatabase } from '../service/database.ts'

/** A key that no answer may hold. */
export const canary = 'sk-canary-0123456789-wxyz'

/** A runtime whose run only ends, and that reports when it is closed. */
const silentRuntime = (id: string, onClose: () => void): Runtime & { close(): Promise<void> } => ({
  id,
  capabilities: { ...noCapabilities, streaming: true },
  async *run() {
    yield []
    yield [idle({ type: 'end_turn' })]
  },
  dispose: async () => undefined,
  close: async () => onClose(),
})

/** A protocol at the edge of the test: what it is asked, and what it answers. */
export function scriptedKind(spec: ApiSpec) {
  const connected: RuntimeEndpoint[] = []
  const closed: RuntimeEndpoint[] = []
  const requests: RuntimeEndpoint[] = []
  const answers = {
    check: async (_signal: AbortSignal): Promise<void> => undefined,
    models: async () => [{ id: 'm1', display_name: 'Model 1' }],
  }
  const kind: RuntimeKind = {
    spec,
    capabilities: { ...noCapabilities, streaming: true },
    connect(endpoint) {
      connected.push(endpoint)
      return silentRuntime(endpoint.id, () => void closed.push(endpoint))
    },
    check(endpoint, signal) {
      requests.push(endpoint)
      return answers.check(signal)
    },
    models(endpoint) {
      requests.push(endpoint)
      return answers.models()
    },
  }
  return { kind, connected, closed, requests, answers }
}

interface Given {
  readonly caller: Caller
  readonly configured: readonly ConfiguredHarness[]
  readonly allow: readonly string[]
  readonly keyring: ReturnType<typeof createKeyring>
  readonly timeoutMs: number
  readonly startMs: number
  /** Takes the place of the scripted protocol of the same name. */
  readonly kind: RuntimeKind
}

/** Servers with the routes of runtimes over one fresh database. All speak cursor, claude_managed_agents and opencode. */
export async function runtimeApps() {
  const { db, pool } = await freshDatabase()
  const ring = createKeyring([randomBytes(32)])
  const store = runtimeStore(db)

  function start({
    caller = masterCaller,
    configured = [],
    allow = [],
    keyring = ring,
    timeoutMs = 15_000,
    startMs = 60_000,
    kind,
  }: Partial<Given> = {}) {
    const app = createServer({ authenticate: () => caller, log: createLog('silent') })
    const cursor = scriptedKind('cursor')
    const opencode = scriptedKind('opencode')
    const managed = scriptedKind('claude_managed_agents')
    const kinds = new Map([cursor, opencode, managed].map(({ kind }) => [kind.spec, kind]))
    if (kind) kinds.set(kind.spec, kind)
    const now = { configured, allow }
    const encryption = createRuntimeKeyEncryption(keyring)
    const guard = () => createOutbound({ allow: now.allow })
    const externals = createExternalRuntimes({
      store,
      encryption,
      supports: spec => kinds.has(spec),
      configured: () => now.configured,
      guard,
    })
    const builtin = silentRuntime('builtin', () => undefined)
    const registry = createRegistry({
      canSearch: () => false,
      canClone: true,
      networkCheck: () => undefined,
      sandboxCheck: () => undefined,
      builtin,
      publicUrl: () => 'https://switchyard.example',
      kinds,
      externals,
      store,
      modelSecrets: () => wholeEchoes([]),
    })
    const changes = createRuntimeChanges({
      store,
      encryption,
      configured: () => now.configured,
      guard,
      audit: createAudit(auditStore(db)),
    })
    const clock = { nowMs: 0 }
    const probes = createProbes({
      ownId: 'builtin',
      kinds,
      externals,
      store,
      nowMs: () => clock.nowMs,
      timeoutMs,
      startMs,
    })
    const logged: object[] = []
    const tell = (level: string) => (fields: object, message: string) => void logged.push({ level, message, ...fields })
    const log = { debug: tell('debug'), info: tell('info'), warn: tell('warn') } as Pick<Log, 'debug' | 'info' | 'warn'>
    const healthChecks = createHealthChecks({ externals, probes, store, log })
    serveRuntimes(app, { registry, changes, probes, ownModels: () => [{ id: 'own', display_name: 'Own' }] })
    after(() => app.close())
    const call = async (line: string, payload?: object) => {
      const [method, url = ''] = line.split(' ')
      const answer = await app.inject({ method: method as 'GET', url, ...(payload && { payload }) })
      assert.doesNotMatch(answer.body, /canary/)
      return { status: answer.statusCode, body: answer.json() }
    }
    return { call, registry, healthChecks, logged, cursor, opencode, managed, now, clock }
  }

  return {
    pool,
    start,
    /** The newest row of the audit log. */
    lastAudit: async () =>
      (await pool.query('select action, object_id, before, after from audit_log order by id desc limit 1')).rows[0],
  }
}

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { McpServer, McpServerCreate } from '../../../src/contract/mcp.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import { composeMcp } from '../../../src/server/compose/mcp.ts'
import type { ConfiguredMcpServer } from '../../../src/server/config/agent-settings.ts'
import { createRowCipher } from '../../../src/server/db/encrypted-rows.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { StreamSlots } from '../../../src/server/http/stream-slots.ts'
import { isLocalRequest } from '../../../src/server/http/web-page.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import { AppError } from '../../../src/server/platform/errors.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import type { Sandboxes } from '../../../src/server/sandboxes/sandboxes.ts'
import { vaultStore } from '../../../src/server/vault/store.ts'
import { useStore } from '../../../src/server/vault/use-store.ts'
import { createVault } from '../../../src/server/vault/vault.ts'
import { freshDatabase } from '../service/database.ts'

const log = createLog('silent')
const plainKey = { models: [], isLimited: false, isNarrow: false, expires: false }
const callers = {
  master: masterCaller,
  ana: { principal: 'ana', role: 'user', ownerScope: 'ana', key: { id: 'key_ana', ...plainKey } },
  bo: { principal: 'bo', role: 'user', ownerScope: 'bo', key: { id: 'key_bo', ...plainKey } },
  /** May use the server `files`, and of its tools only `echo`. */
  narrow: {
    principal: 'key_narrow',
    role: 'user',
    ownerScope: undefined,
    key: { id: 'key_narrow', ...plainKey, mcpServers: ['files'], mcpTools: { files: ['echo'] } },
  },
  limited: {
    principal: 'key_limited',
    role: 'admin',
    ownerScope: undefined,
    key: { id: 'key_limited', ...plainKey, isNarrow: true },
  },
} as const satisfies Record<string, Caller>
export type McpCaller = keyof typeof callers

const noSandboxes: Pick<Sandboxes, 'open'> = {
  open: () => Promise.reject(new Error('this test starts no programs')),
}

interface Options {
  readonly anonymous?: McpCaller
  /** Where programs start. */
  readonly sandboxes?: Pick<Sandboxes, 'open'>
}

/**
 * MCP over a fresh database, on its own port. `x-api-key` names the caller; without it, a local request is that of `anonymous`. Only the
 * addresses that a test allows may be called.
 */
export async function startMcpApp({ anonymous, sandboxes = noSandboxes }: Options = {}) {
  const { pool, db } = await freshDatabase()
  const keyring = createKeyring([randomBytes(32)])
  const allowed = new Set<string>()
  const configured: ConfiguredMcpServer[] = []
  const guard = () => createOutbound({ allow: [...allowed] })
  const audit = createAudit(auditStore(db))
  const listeners: (readonly [channel: string, listener: (payload: string) => void])[] = []
  const vault = createVault({
    store: vaultStore(pool),
    uses: useStore(pool),
    cipher: createRowCipher(keyring, 'vault_entries'),
    audit,
  })

  /** Starts a process of the service and returns its address. */
  async function startProcess(): Promise<string> {
    const app = createServer({
      async authenticate({ headers }) {
        const named = headers['x-api-key']
        if (named !== undefined || anonymous === undefined) return callers[String(named) as McpCaller]
        if (!isLocalRequest({ headers })) throw new AppError('forbidden', 'Host is not a name of this machine')
        return callers[anonymous]
      },
      log,
    })
    const shutdown = new AbortController()
    const slots = new StreamSlots()
    let url = ''
    const mcp = composeMcp({
      log,
      sandboxes,
      pool,
      db,
      keyring,
      audit,
      vault,
      credentialFor: async () => undefined,
      notifications: {
        on: (channel, listener) => void listeners.push([channel, listener]),
        onReconnect: () => undefined,
        send(channel, payload) {
          for (const [name, listener] of listeners) if (name === channel) setImmediate(listener, payload)
        },
      },
      keys: { watch: () => ({ signal: new AbortController().signal, close: () => undefined }) },
      slots: () => slots,
      outbound: { connect: timeoutMs => guard().connect(timeoutMs) },
      guard,
      configured: () => configured,
      publicUrl: () => url,
      shutdown: shutdown.signal,
    })
    mcp.serve(app)
    for (const { start } of mcp.parts) await start?.()
    await app.listen({ port: 0, host: '127.0.0.1' })
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    after(async () => {
      shutdown.abort()
      for (const { stop } of mcp.parts.toReversed()) await stop?.()
      app.server.closeAllConnections()
      await app.close()
    })
    return url
  }
  const url = await startProcess()

  async function call<T = Record<string, unknown>>(
    caller: McpCaller,
    line: string,
    payload?: unknown,
    headers: Record<string, string> = {},
  ) {
    const [method = '', path = ''] = line.split(' ')
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        'x-api-key': caller,
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(payload !== undefined && { body: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
    })
    const text = await answer.text()
    const json = (answer.headers.get('content-type') ?? '').startsWith('application/json')
    return { status: answer.status, headers: answer.headers, text, body: (json ? JSON.parse(text) : {}) as T }
  }

  return {
    url,
    pool,
    vault,
    call,
    startProcess,
    configured,
    /** Lets the service call an address. */
    allow: (address: string) => void allowed.add(new URL(address).host),
    /** Blocks an address that was allowed. */
    block: (address: string) => void allowed.delete(new URL(address).host),
    /** Registers a server at an address that may be called. */
    async registered(write: McpServerCreate): Promise<McpServer> {
      allowed.add(new URL(write.url).host)
      const answer = await call<McpServer>('master', 'POST /v1/mcp/server', write)
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    },
  }
}

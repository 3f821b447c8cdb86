import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { McpServer, McpServerCreate } from '../../../src/contract/mcp.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import { composeMcp } from '../../../src/server/compose/mcp.ts'
import type { ConfiguredMcpServer } from '../../../src/server/config/config.ts'
import { createRowCipher } from '../../../src/server/db/encrypted-rows.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { StreamSlots } from '../../../src/server/http/stream-slots.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import type { Sandboxes } from '../../../src/server/sandboxes/sandboxes.ts'
import { vaultStore } from '../../../src/server/vault/store.ts'
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

/**
 * MCP over a fresh database, on its own port. `x-api-key` names the caller. Only the addresses that a test allows
 * may be called.
 */
export async function startMcpApp({ sandboxes = noSandboxes }: { readonly sandboxes?: Pick<Sandboxes, 'open'> } = {}) {
  const { pool, db } = await freshDatabase()
  const keyring = createKeyring([randomBytes(32)])
  const allowed = new Set<string>()
  const configured: ConfiguredMcpServer[] = []
  const guard = () => createOutbound({ allow: [...allowed] })
  const audit = createAudit(auditStore(db))
  const app = createServer({
    authenticate: async ({ headers }) => callers[String(headers['x-api-key']) as McpCaller],
    log,
  })
  const shutdown = new AbortController()
  const vault = createVault({ store: vaultStore(pool), cipher: createRowCipher(keyring, 'vault_entries'), audit })
  let url = ''
  const mcp = composeMcp({
    log,
    pool,
    db,
    notifications: { on: () => undefined, onReconnect: () => undefined },
    keyring,
    audit,
    vault,
    sandboxes,
    keys: { watch: () => ({ signal: new AbortController().signal, close: () => undefined }) },
    slots: new StreamSlots(),
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
    configured,
    /** Lets the service call an address. */
    allow: (address: string) => void allowed.add(new URL(address).host),
    /** Registers a server at an address that may be called. */
    async registered(write: McpServerCreate): Promise<McpServer> {
      allowed.add(new URL(write.url).host)
      const answer = await call<McpServer>('master', 'POST /v1/mcp/server', write)
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    },
  }
}

import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Pool } from 'pg'
import type { ApiKey, ApiKeyWrite, ShownApiKey } from '../../../src/contract/keys.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import { budgetStore } from '../../../src/server/budgets/store.ts'
import { createKysely } from '../../../src/server/db/connect.ts'
import { createAuthenticate } from '../../../src/server/http/auth.ts'
import { createCheckKey } from '../../../src/server/http/check-key.ts'
import { createAddressOf } from '../../../src/server/http/client-address.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { createKeys } from '../../../src/server/keys/keys.ts'
import { createKeyLookup } from '../../../src/server/keys/lookup.ts'
import { serveKeys } from '../../../src/server/keys/routes.ts'
import { keyStore } from '../../../src/server/keys/store.ts'
import { createKeyring, createValueCipher } from '../../../src/server/platform/encryption.ts'
import { createLog } from '../../../src/server/platform/log.ts'

interface Sent {
  /** The key; that of the master unless given. */
  readonly as?: string
  /** Text is sent as it is, anything else as JSON. */
  readonly body?: object | string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

const master = 'sk-test-master-key-0123456789'

/** The routes of virtual keys over a database, and short ways to use them. Ends with the file. */
export function startKeysApp(pool: Pool) {
  const log = createLog('silent')
  const pepper = Buffer.alloc(32, 5)
  const store = keyStore(pool)
  const notifications = { on: () => undefined, onReconnect: () => undefined }
  const keys = createKeys({
    pool,
    store,
    lookup: createKeyLookup({ store, pepper, notifications, log, nowMs: () => performance.now() }),
    pepper,
    cipher: createValueCipher(createKeyring([Buffer.alloc(32, 3)]), 'idempotency'),
    budgets: budgetStore(pool),
    audit: createAudit(auditStore(createKysely(pool))),
  })
  after(() => keys.stop())
  const app = createServer({
    authenticate: createAuthenticate({
      checkKey: createCheckKey({
        masterKey: master,
        logins: { admits: () => true },
        findKey: keys.find,
        addressOf: createAddressOf([]),
      }),
      insecureNoAuth: false,
      cookie: { keyIn: () => undefined },
      redeemTicket: async () => undefined,
    }),
    log,
  })
  serveKeys(app, { keys })

  async function call(line: string, { as = master, body, headers = {} }: Sent = {}) {
    const [method = '', url = ''] = line.split(' ')
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${as}`, ...type, ...headers },
      ...(body !== undefined && { payload: body }),
    })
    const { statusCode: status, body: text } = answer
    return { status, text, headers: answer.headers, json: <T>() => answer.json() as T }
  }
  return {
    call,
    /** Makes a key. */
    async made(body: ApiKeyWrite = {}, sent: Omit<Sent, 'body'> = {}): Promise<ShownApiKey> {
      const answer = await call('POST /api/keys', { ...sent, body })
      assert.equal(answer.status, 201, answer.text)
      return answer.json<ShownApiKey>()
    },
    read: async (id: string) => (await call(`GET /api/keys/${id}`)).json<ApiKey>(),
    /** True for a key that is known, whatever it may do. */
    opens: async (key: string) => (await call('GET /api/keys', { as: key })).status !== 401,
  }
}

/** The text of an error. */
export const messageOf = (answer: { json<T>(): T }): string =>
  answer.json<{ error: { message: string } }>().error.message

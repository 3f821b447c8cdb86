import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { recordSecretWriter } from '../agents/webhook-secret-store.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import type { Config } from '../config/config.ts'
import type { Notifications } from '../db/notifications.ts'
import { createRowSealer } from '../db/sealed-rows.ts'
import { createAuthenticate } from '../http/auth.ts'
import { createAddressOf } from '../http/client-address.ts'
import { createLentCallers } from '../http/lent-callers.ts'
import { createLoginLimiter } from '../http/login-limiter.ts'
import { runAsOf } from '../http/reach.ts'
import { createKeys } from '../keys/keys.ts'
import { createKeyLookup } from '../keys/lookup.ts'
import { serveKeys } from '../keys/routes.ts'
import { createRunAs } from '../keys/run-as.ts'
import { keyStore } from '../keys/store.ts'
import type { Log } from '../platform/log.ts'
import { createSealer, type Keyring } from '../platform/seal.ts'
import { createReseal } from '../secrets/reseal.ts'
import { loadServiceSecret } from '../secrets/service-secret.ts'
import { secretStore } from '../secrets/store.ts'
import { createRedeemTicket } from '../sessions/log/redeem-ticket.ts'
import { ticketStore } from '../sessions/log/ticket-store.ts'
import { serveVault } from '../vault/routes.ts'
import { vaultStore } from '../vault/store.ts'
import { createVault } from '../vault/vault.ts'

interface Needs {
  readonly config: Pick<Config, 'masterKey' | 'insecureNoAuth' | 'trustProxy'>
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  readonly notifications: Notifications
  readonly audit: Audit
  readonly budgetRows: BudgetStore
}

/** Secrets that are kept, keys that are given out, and who calls. */
export async function composeAccess({ config, log, keyring, pool, notifications, audit, budgetRows }: Needs) {
  const vault = createVault({
    store: vaultStore(pool),
    sealer: createRowSealer(keyring, 'vault_entries'),
    audit,
    onSet: (sql, entry, caller) => recordSecretWriter(sql, { ...entry, runAsKeyId: runAsOf(caller) }),
  })
  const reseal = createReseal({ store: secretStore(pool), keyring, log })

  // keys
  const keyRows = keyStore(pool)
  const pepper = await loadServiceSecret(pool, keyring, 'pepper of key hashes')
  const keyLookup = createKeyLookup({ store: keyRows, pepper, notifications, log, nowMs: () => performance.now() })
  const keys = createKeys({
    pool,
    store: keyRows,
    lookup: keyLookup,
    pepper,
    sealer: createSealer(keyring, 'idempotency'),
    budgets: budgetRows,
    audit,
  })

  // who calls
  const tickets = ticketStore(pool, { pepper })
  const logins = createLoginLimiter(() => performance.now())
  const addressOf = createAddressOf(config.trustProxy)
  const lentCallers = createLentCallers()
  const authenticate = createAuthenticate({
    masterKey: config.masterKey,
    insecureNoAuth: config.insecureNoAuth,
    logins,
    addressOf,
    findKey: keys.find,
    redeemTicket: createRedeemTicket({ tickets, keys }),
    lent: lentCallers.of,
  })

  return {
    vault,
    reseal,
    keys,
    runAs: createRunAs(keys),
    tickets,
    logins,
    addressOf,
    /** Says who makes a request that comes in without a key of its own. */
    lendCaller: lentCallers.lend,
    /** True for such a request. */
    isLent: (request: IncomingMessage) => lentCallers.of(request) !== undefined,
    authenticate,
    serve(app: FastifyInstance) {
      serveVault(app, { vault })
      serveKeys(app, { keys })
    },
  }
}

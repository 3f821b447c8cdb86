import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { recordSecretWriter } from '../agents/webhook-secret-store.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import type { Config } from '../config/config.ts'
import { serveSignIn } from '../console/sign-in.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import type { Notifications } from '../db/notifications.ts'
import { createAssignedCallers } from '../http/assigned-callers.ts'
import { createAuthenticate } from '../http/auth.ts'
import { createCheckKey } from '../http/check-key.ts'
import { createAddressOf } from '../http/client-address.ts'
import { createLoginLimiter } from '../http/login-limiter.ts'
import { runAsOf } from '../http/reach.ts'
import { createSignInCookie } from '../http/sign-in-cookie.ts'
import { createImportedKeys } from '../keys/imported.ts'
import { createKeys } from '../keys/keys.ts'
import { createKeyLookup } from '../keys/lookup.ts'
import { serveKeys } from '../keys/routes.ts'
import { createRunAs } from '../keys/run-as.ts'
import { keyStore } from '../keys/store.ts'
import { createValueCipher, type Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { createReencryption } from '../secrets/reencryption.ts'
import { loadServiceSecret } from '../secrets/service-secret.ts'
import { secretStore } from '../secrets/store.ts'
import { createRedeemTicket } from '../sessions/log/redeem-ticket.ts'
import { ticketStore } from '../sessions/log/ticket-store.ts'
import { configuredUses } from '../vault/configured-uses.ts'
import { serveVault } from '../vault/routes.ts'
import { vaultStore } from '../vault/store.ts'
import { useStore } from '../vault/use-store.ts'
import { createVault } from '../vault/vault.ts'

interface Needs {
  readonly config: Pick<Config, 'masterKey' | 'insecureNoAuth' | 'trustProxy'>
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  readonly notifications: Notifications
  readonly audit: Audit
  readonly budgetRows: BudgetStore
  /** The configuration that was read last. */
  readonly reloaded: () => Config
}

/** Vault, virtual keys and authentication. */
export async function composeAccess({ config, log, keyring, pool, notifications, audit, budgetRows, reloaded }: Needs) {
  const vault = createVault({
    store: vaultStore(pool),
    uses: useStore(pool),
    configuredUses: () => configuredUses(reloaded()),
    cipher: createRowCipher(keyring, 'vault_entries'),
    audit,
    onSet: (sql, entry, caller) => recordSecretWriter(sql, { ...entry, runAsKeyId: runAsOf(caller) }),
  })
  const reencryption = createReencryption({ store: secretStore(pool), keyring, log })

  // keys
  const keyRows = keyStore(pool)
  const pepper = await loadServiceSecret(pool, keyring, 'pepper of key hashes')
  const nowMs = () => performance.now()
  const imported = createImportedKeys({ read: keyRows.hasImported, log, nowMs })
  await imported.refresh()
  const keyLookup = createKeyLookup({ store: keyRows, pepper, imported, notifications, log, nowMs })
  const keys = createKeys({
    pool,
    store: keyRows,
    lookup: keyLookup,
    pepper,
    cipher: createValueCipher(keyring, 'idempotency'),
    budgets: budgetRows,
    audit,
  })

  // authentication
  const tickets = ticketStore(pool, { pepper })
  const logins = createLoginLimiter(() => performance.now())
  const addressOf = createAddressOf(config.trustProxy)
  const assignedCallers = createAssignedCallers()
  const { masterKey } = config
  const checkKey =
    masterKey === undefined ? undefined : createCheckKey({ masterKey, logins, addressOf, findKey: keys.find })
  const cookie = createSignInCookie(keyring, () => Date.now())
  const authenticate = createAuthenticate({
    checkKey,
    insecureNoAuth: config.insecureNoAuth,
    cookie,
    redeemTicket: createRedeemTicket({ tickets, keys }),
    assigned: assignedCallers.of,
  })

  const parts: readonly Part[] = [
    { name: 'keys', stop: keys.stop },
    { name: 're-encryption', start: reencryption.start, stop: reencryption.stop },
  ]

  return {
    vault,
    keys,
    runAs: createRunAs(keys),
    tickets,
    logins,
    addressOf,
    /** Sets the caller of a request that has no key of its own. */
    assignCaller: assignedCallers.assign,
    /** True for a request whose caller was passed in that way. */
    isFromProgram: (request: IncomingMessage) => assignedCallers.of(request) !== undefined,
    authenticate,
    parts,
    serve(app: FastifyInstance) {
      serveVault(app, { vault })
      serveKeys(app, { keys })
      serveSignIn(app, { checkKey, cookie })
    },
  }
}

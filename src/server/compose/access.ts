import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { consoleRoutes } from '../../contract/console.ts'
import { recordSecretWriter } from '../agents/webhook-secret-store.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import type { Config, OidcSettings } from '../config/config.ts'
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
import { createSignInKeys } from '../keys/sign-in-keys.ts'
import { keyStore } from '../keys/store.ts'
import { createValueCipher, type Keyring } from '../platform/encryption.ts'
import { AppError } from '../platform/errors.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { createReencryption } from '../secrets/reencryption.ts'
import { loadServiceSecret } from '../secrets/service-secret.ts'
import { secretStore } from '../secrets/store.ts'
import { createRedeemTicket } from '../sessions/log/redeem-ticket.ts'
import { ticketStore } from '../sessions/log/ticket-store.ts'
import { createAttemptCookie } from '../sign-in/attempt-cookie.ts'
import { createIdentityProvider } from '../sign-in/provider.ts'
import { serveSingleSignOn } from '../sign-in/routes.ts'
import { stateStore } from '../sign-in/state-store.ts'
import { createPeople } from '../teams/people.ts'
import { serveTeams, serveUsers } from '../teams/routes.ts'
import { teamStore } from '../teams/team-store.ts'
import { createTeams } from '../teams/teams.ts'
import { userStore } from '../teams/user-store.ts'
import { createUsers } from '../teams/users.ts'
import { configuredUses } from '../vault/configured-uses.ts'
import { serveVault } from '../vault/routes.ts'
import { vaultStore } from '../vault/store.ts'
import { useStore } from '../vault/use-store.ts'
import { createVault, type Vault } from '../vault/vault.ts'

interface Needs {
  readonly config: Pick<Config, 'masterKey' | 'insecureNoAuth' | 'trustProxy' | 'oidc'>
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  readonly notifications: Notifications
  readonly audit: Audit
  readonly budgetRows: BudgetStore
  /** The configuration that was read last. */
  readonly reloaded: () => Config
  /** What calls to the identity provider need; built later. */
  readonly network: () => Network
}

interface Network {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly guard: () => Pick<Outbound, 'judge' | 'lists'>
  readonly publicUrl: () => string
}

const identityProvider = (
  settings: OidcSettings,
  { publicUrl, outbound, guard, vault }: Network & { readonly vault: Pick<Vault, 'value'> },
) => {
  const { clientSecret, clientSecretVaultKey: name } = settings
  const secretInVault = async (entry: string): Promise<string> => {
    const value = await vault.value({ name: entry, ownerId: undefined })
    if (value !== undefined) return value
    throw new AppError('unavailable', `single sign-on needs the global vault entry ${entry}, which does not exist`)
  }
  return createIdentityProvider({
    settings,
    clientSecret: async () => (name === undefined ? clientSecret : secretInVault(name)),
    redirectUri: () => `${publicUrl()}${consoleRoutes.ssoCallback.path}`,
    outbound,
    guard,
    nowMs: () => performance.now(),
  })
}

/** Vault, virtual keys, users, teams and authentication. */
export async function composeAccess(needs: Needs) {
  const { config, log, keyring, pool, notifications, audit, budgetRows, reloaded, network } = needs
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

  // users and teams
  const signInKeys = createSignInKeys({ store: keyRows, lookup: keyLookup, pepper, budgets: budgetRows, audit })
  const userRows = userStore(pool)
  const teamRows = teamStore(pool)
  const users = createUsers({ pool, store: userRows, keys: keyRows, audit })
  const teams = createTeams({ pool, store: teamRows, users: userRows, keys: keyRows, budgets: budgetRows, audit })
  const people = createPeople({ pool, users: userRows, teams: teamRows, keys: keyRows, signInKeys, audit })

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
      serveUsers(app, { users })
      serveTeams(app, { teams })
      serveSignIn(app, { people, signInKeys, checkKey, cookie })
      serveSingleSignOn(app, {
        sso: config.oidc && { settings: config.oidc, provider: identityProvider(config.oidc, { ...network(), vault }) },
        people,
        states: stateStore(pool),
        attempts: createAttemptCookie(keyring, () => Date.now()),
        cookie,
        logins,
        log,
      })
    },
  }
}

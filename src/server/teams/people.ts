import type { Pool, PoolClient } from 'pg'
import type { Me } from '../../contract/console.ts'
import type { User } from '../../contract/users.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import type { Actor, Caller } from '../http/caller.ts'
import type { SignInKeys } from '../keys/sign-in-keys.ts'
import type { KeyStore } from '../keys/store.ts'
import { AppError, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Identity } from '../sign-in/claims.ts'
import type { TeamStore } from './team-store.ts'
import { auditedUser, userAudit } from './user-audit.ts'
import type { UserStore } from './user-store.ts'
import { requireFreeOwner } from './users.ts'

interface Deps {
  readonly pool: Pool
  readonly users: UserStore
  readonly teams: TeamStore
  readonly keys: Pick<KeyStore, 'announceKeysOf' | 'endSignInsOf'>
  readonly signInKeys: SignInKeys
  readonly audit: Audit
}

interface SigningIn {
  readonly hours: number
  /** Role of a new user if groups do not decide it. */
  readonly defaultRole: User['role']
  readonly from: Pick<Actor, 'address' | 'requestId'>
}

/** People who sign in with an identity provider: their users, teams and sign-ins. */
export type People = ReturnType<typeof createPeople>

export function createPeople({ pool, users, teams, keys, signInKeys, audit }: Deps) {
  const record = userAudit(audit)

  /** Returns the locked user of an identity, which may be new. Throws `forbidden` for an owner of somebody else. */
  async function userOf(client: PoolClient, identity: Identity, { defaultRole, from }: SigningIn): Promise<User> {
    const known = await users.ofAccount(client, identity)
    if (known) return known
    const expected = identity.email === null ? undefined : await users.unclaimed(client, identity.email)
    if (expected) return expected
    const id = newId('user')
    const owner_id = identity.owner ?? id
    await requireUnusedOwner(client, owner_id)
    const { name } = identity
    const fields = { kind: 'person', name, email: null, owner_id, role: identity.role ?? defaultRole } as const
    await users.insert(client, { ...fields, id, created_by: 'sign-in' })
    const user = await users.lock(client, id)
    if (!user) throw new Error(`user ${id} does not exist right after it was created (bug)`)
    await record(client, actorOf(user, from), { action: 'create', user, after: auditedUser(user) })
    return user
  }

  /** Rejects an owner that a claim names if it is taken, or has objects: those may be of somebody else. */
  async function requireUnusedOwner(client: PoolClient, owner: string): Promise<void> {
    await requireFreeOwner(client, users, owner).catch(cause => {
      if (!(cause instanceof AppError)) throw cause
      throw new AppError('forbidden', 'your owner name belongs to another user or team; ask an administrator', {
        cause,
      })
    })
    if (await users.hasObjects(client, owner))
      throw new AppError(
        'forbidden',
        'your owner name already has objects; ask an administrator to create your user with this owner',
      )
  }

  /** Takes name, email and role over from the provider. */
  async function updated(client: PoolClient, before: User, { identity, actor }: Following): Promise<User> {
    const isFree = identity.email !== null && !(await users.hasEmail(client, identity.email, before.id))
    const after = {
      ...before,
      name: identity.name,
      email: isFree ? identity.email : before.email,
      role: identity.role ?? before.role,
    }
    const isSame = after.name === before.name && after.email === before.email && after.role === before.role
    if (isSame) return before
    await users.update(client, after)
    const fields = { before: auditedUser(before), after: auditedUser(after) }
    await record(client, actor, { action: 'update', user: before, ...fields })
    return after
  }

  async function followGroups(client: PoolClient, user: User, { identity, actor }: Following): Promise<void> {
    if (!identity.groups) return
    const { joined, left } = await teams.followGroups(client, user.id, identity.groups)
    if (joined.length + left.length === 0) return
    await record(client, actor, { action: 'follow_groups', user, before: { teams: left }, after: { teams: joined } })
  }

  /** Ends the sign-ins and the memberships by group of a person whose groups give no role any more. */
  async function leave(client: PoolClient, identity: Identity, { from }: SigningIn): Promise<undefined> {
    const user = await users.ofAccount(client, identity)
    if (!user) return
    await followGroups(client, user, { identity, actor: actorOf(user, from) })
    await keys.endSignInsOf(client, user.id)
    await keys.announceKeysOf(client, [user.id], null)
  }

  return {
    /**
     * Signs a person in and returns the secret of the sign-in. The first sign-in creates the user. Groups decide the role and
     * the teams each time. Rejects with `forbidden` for a disabled user and for a person without a role, whose other sign-ins
     * and memberships by group end.
     */
    async signIn(identity: Identity, signingIn: SigningIn): Promise<string> {
      const secret = await transaction(pool, async client => {
        if (identity.role === null) return leave(client, identity, signingIn)
        const found = await userOf(client, identity, signingIn)
        if (found.is_disabled)
          throw new AppError('forbidden', 'your user is disabled; ask an administrator to enable it')
        const actor = actorOf(found, signingIn.from)
        const user = await updated(client, found, { identity, actor })
        await users.signedIn(client, user.id, identity)
        await followGroups(client, user, { identity, actor })
        await record(client, actor, { action: 'sign_in', user })
        await keys.announceKeysOf(client, [user.id], null)
        return signInKeys.open(client, { user, team: null }, { hours: signingIn.hours, actor })
      })
      if (secret === undefined)
        throw new AppError('forbidden', 'none of your groups may use this service; ask an administrator')
      return secret
    },

    /**
     * Returns a secret that replaces `secret`, that of a sign-in, for the rest of its time and acts as a team, or as the person
     * itself. Rejects with `forbidden` for other keys and with `not_found` for other teams.
     */
    async actAs(teamId: string | null, { caller, actor, secret }: Acting): Promise<string> {
      const { userId, isSignIn } = caller.key ?? {}
      if (!isSignIn || userId === undefined || secret === undefined) throw notSignedIn()
      const replaced = await transaction(pool, async client => {
        const user = await users.lock(client, userId)
        const validUntil = await signInKeys.endOf(client, { secret, userId })
        if (!user || user.is_disabled || !validUntil) throw notSignedIn()
        const team = teamId === null ? null : (await teams.ofUser(userId, client)).find(({ id }) => id === teamId)
        if (team === undefined) throw notFound('team', teamId ?? '')
        return signInKeys.open(client, { user, team }, { validUntil, actor })
      })
      await signInKeys.close(secret)
      return replaced
    },

    /** Returns the user of a caller as the console shows it; null without one. */
    async shown({ key, ownerScope }: Pick<Caller, 'key' | 'ownerScope'>): Promise<Me['user']> {
      const user = key?.userId === undefined ? undefined : await users.find(key.userId)
      if (!user) return null
      const own = await teams.ofUser(user.id)
      const acting = own.find(({ owner_id }) => owner_id === ownerScope)
      const { id, name, email } = user
      return {
        id,
        name,
        email,
        team_id: acting?.id ?? null,
        teams: key?.isSignIn ? own.map(team => ({ id: team.id, name: team.name })) : [],
      }
    },
  }
}

interface Following {
  readonly identity: Identity
  readonly actor: Actor
}

interface Acting {
  readonly caller: Caller
  readonly actor: Actor
  /** Secret in the cookie of the request. */
  readonly secret: string | undefined
}

const notSignedIn = (): AppError =>
  new AppError('forbidden', 'only a person who signed in with single sign-on may act as a team')

const actorOf = ({ owner_id, role }: User, from: SigningIn['from']): Actor => ({
  principal: owner_id,
  role,
  keyId: undefined,
  ...from,
})

import type { PoolClient } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import { sqlOfClient } from '../db/once.ts'
import type { Actor } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import { unlimited } from './fields.ts'
import { hashOf, isKey, newKey, shownParts } from './format.ts'
import type { KeyLookup } from './lookup.ts'
import type { KeyStore } from './store.ts'

/** A person, and the team that it acts as; null: itself. */
export interface SignedIn {
  readonly user: { readonly id: string; readonly name: string }
  readonly team: { readonly id: string; readonly name: string; readonly owner_id: string } | null
}

type Opening = { readonly actor: Actor } & ({ readonly hours: number } | { readonly validUntil: Date })

interface Deps {
  readonly store: KeyStore
  readonly lookup: Pick<KeyLookup, 'forget'>
  /** HMAC key of the key hashes. */
  readonly pepper: Buffer
  readonly budgets: Pick<BudgetStore, 'setLimits'>
  readonly audit: Audit
}

/**
 * Keys behind the console sign-ins of users: one per user and team, with one secret per sign-in. What a person sets up
 * keeps running under the key when the sign-in ends. Decision 0040.
 */
export type SignInKeys = ReturnType<typeof createSignInKeys>

export function createSignInKeys({ store, lookup, pepper, budgets, audit }: Deps) {
  /** The user must be locked, so that concurrent sign-ins share a key. */
  async function keyOf(client: PoolClient, { user, team }: SignedIn, actor: Actor): Promise<string> {
    const existing = await store.signInKey(client, user.id, team?.id ?? null)
    if (existing !== undefined) return existing
    const id = newId('key')
    await store.insert(client, {
      ...unlimited,
      id,
      label: `Console: ${user.name}${team ? ` as ${team.name}` : ''}`.slice(0, 200),
      // The role and, without a team, the owner of the user apply.
      role: 'admin',
      owner_id: team?.owner_id ?? null,
      user_id: user.id,
      team_id: team?.id ?? null,
      is_sign_in: true,
      ...shownParts(newKey()),
      created_by: actor.principal,
      parent_id: null,
      ancestors: [],
    })
    await budgets.setLimits(client, { scope: 'key', scope_id: id }, unlimited)
    const after = { user_id: user.id, team_id: team?.id ?? null, is_sign_in: true }
    await audit.record(sqlOfClient(client), { actor, action: 'key.create', objectId: id, after })
    return id
  }

  async function close(secret: string): Promise<void> {
    if (!isKey(secret)) return
    const id = await store.endSignIn(hashOf(secret, pepper))
    if (id !== undefined) lookup.forget(id)
  }

  return {
    /** Returns a new secret for a sign-in in the open transaction, which has locked the user. */
    async open(client: PoolClient, signedIn: SignedIn, { actor, ...lifetime }: Opening): Promise<string> {
      const id = await keyOf(client, signedIn, actor)
      const secret = newKey()
      await store.forgetExpiredHashes(client, id)
      const validUntil =
        'hours' in lifetime ? await store.timeAfter(client, `${lifetime.hours} hours`) : lifetime.validUntil
      await store.addHash(client, id, hashOf(secret, pepper), validUntil)
      return secret
    },

    /** Returns when the sign-in of a user by this secret ends; undefined for any other secret. */
    endOf: (
      client: PoolClient,
      { secret, userId }: { readonly secret: string; readonly userId: string },
    ): Promise<Date | undefined> => store.endOfSignIn(client, hashOf(secret, pepper), userId),

    /** Ends the sign-in of a secret; no effect on other keys. */
    close,
  }
}

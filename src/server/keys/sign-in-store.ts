import type { Pool, PoolClient } from 'pg'
import { hint } from '../db/hints.ts'
import { keyChannel } from './key-channel.ts'

/** Keys behind the sign-ins of users, and their hashes: one per sign-in. */
export const signInStore = (pool: Pool) => ({
  /** Returns the end of a hash of a sign-in of this user; undefined for other hashes and once it has passed. */
  async endOfSignIn(client: PoolClient, hash: Buffer, userId: string): Promise<Date | undefined> {
    const text = `
      select h.valid_until from api_key_hashes h join api_keys k on k.id = h.key_id
      where h.hash = $1 and k.is_sign_in and k.user_id = $2 and h.valid_until > clock_timestamp()`
    return (await client.query<{ valid_until: Date }>(text, [hash, userId])).rows[0]?.valid_until
  },

  /** Ends all sign-ins of a user. */
  async endSignInsOf(client: PoolClient, userId: string): Promise<void> {
    const text = `
      delete from api_key_hashes h using api_keys k where k.id = h.key_id and k.is_sign_in and k.user_id = $1`
    await client.query(text, [userId])
  },

  /** Returns the key behind the console sign-ins of a user, for itself or for a team. */
  async signInKey(client: PoolClient, userId: string, teamId: string | null): Promise<string | undefined> {
    const text = `
      select id from api_keys
      where user_id = $1 and team_id is not distinct from $2 and is_sign_in and revoked_at is null`
    return (await client.query<{ id: string }>(text, [userId, teamId])).rows[0]?.id
  },

  /** Deletes the expired hashes of a key. */
  async forgetExpiredHashes(client: PoolClient, id: string): Promise<void> {
    await client.query('delete from api_key_hashes where key_id = $1 and valid_until < clock_timestamp()', [id])
  },

  /** Deletes one hash of a sign-in key, and notifies every process. */
  async endSignIn(hash: Buffer): Promise<string | undefined> {
    const text = `
      delete from api_key_hashes h using api_keys k
      where h.hash = $1 and k.id = h.key_id and k.is_sign_in returning k.id`
    const id = (await pool.query<{ id: string }>(text, [hash])).rows[0]?.id
    if (id !== undefined) hint(pool, keyChannel, id)
    return id
  },
})

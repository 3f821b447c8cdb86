import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import type { LeaseStore } from './lease-store.ts'
import type { HeldSession } from './leases.ts'
import type { PromptStore } from './prompt-store.ts'
import type { SessionStore } from './session-store.ts'

interface Deps {
  readonly pool: Pool
  readonly sessions: SessionStore
  readonly prompts: PromptStore
  readonly leases: LeaseStore
}

/**
 * Gives a lease back unless a prompt can be worked on; true when it was given back. The row lock comes first and the look at the
 * queue second: a prompt stored meanwhile is either seen here, or its wake-up finds the lease free.
 */
export function releaseWhenIdle({ pool, sessions, prompts, leases }: Deps, held: HeldSession): Promise<boolean> {
  return transaction(pool, async client => {
    await sessions.lock(client, held.sessionId)
    if (await prompts.next(held.sessionId, client)) return false
    await leases.handOver(held, client)
    return true
  })
}

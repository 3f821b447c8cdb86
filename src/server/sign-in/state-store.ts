import { createHash } from 'node:crypto'
import type { Pool } from 'pg'

/** Table `used_sign_ins`: states of completed sign-ins. */
export type StateStore = ReturnType<typeof stateStore>

export const stateStore = (pool: Pool) => ({
  /** True for the first use of a state within its lifetime. */
  async claim(state: string, lifetimeS: number): Promise<boolean> {
    const text = `
      with expired as (
        delete from used_sign_ins where state_hash = any (array(
          select state_hash from used_sign_ins where expires_at < clock_timestamp() limit 100 for update skip locked))
      )
      insert into used_sign_ins (state_hash, expires_at)
      values ($1, clock_timestamp() + $2 * interval '1 second') on conflict (state_hash) do nothing`
    const hash = createHash('sha256').update(state).digest()
    return (await pool.query(text, [hash, lifetimeS])).rowCount === 1
  },
})

import { createHmac, randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { Caller } from '../../http/caller.ts'

/** The caller that a ticket was issued to. */
interface TicketHolder {
  readonly principal: string
  /** The virtual key of the caller; null for the master key. */
  readonly key_id: string | null
}

export interface Ticket {
  readonly ticket: string
  readonly expires_at: string
}

const lifetime = `interval '60 seconds'`

/**
 * Table `stream_tickets`. A ticket is valid once, for one session, for 60 s; only its HMAC is stored. Source: Security,
 * S19.
 */
export type TicketStore = ReturnType<typeof ticketStore>

export function ticketStore(pool: Pool, { pepper }: { readonly pepper: Buffer }) {
  const digest = (ticket: string): Buffer =>
    createHmac('sha256', pepper).update('stream ticket ').update(ticket).digest()

  return {
    async issue(sessionId: string, { principal, key }: Caller): Promise<Ticket> {
      const ticket = randomBytes(24).toString('base64url')
      await pool.query('delete from stream_tickets where expires_at < clock_timestamp()')
      const { rows } = await pool.query<{ expires_at: Date }>(
        `insert into stream_tickets (hash, session_id, principal, key_id, expires_at)
         values ($1, $2, $3, $4, clock_timestamp() + ${lifetime}) returning expires_at`,
        [digest(ticket), sessionId, principal, key?.id],
      )
      return { ticket, expires_at: (rows[0]?.expires_at ?? new Date()).toISOString() }
    },

    /** Redeems a ticket once, if it was issued for this session and has not expired. Returns its holder. */
    async redeem(ticket: string, sessionId: string): Promise<TicketHolder | undefined> {
      const { rows } = await pool.query<TicketHolder>(
        `delete from stream_tickets
         where hash = $1 and session_id = $2 and expires_at > clock_timestamp() returning principal, key_id`,
        [digest(ticket), sessionId],
      )
      return rows[0]
    },
  }
}

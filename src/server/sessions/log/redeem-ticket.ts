import type { Caller } from '../../http/caller.ts'
import type { Keys } from '../../keys/keys.ts'
import type { TicketStore } from './ticket-store.ts'

interface Deps {
  readonly tickets: Pick<TicketStore, 'redeem'>
  readonly keys: Pick<Keys, 'byId'>
}

/**
 * Redeems a ticket. Returns its holder with the current rights of the holder's key; undefined when the ticket is
 * invalid or the key was deleted. Source: Security, S19.
 */
export const createRedeemTicket =
  ({ tickets, keys }: Deps) =>
  async (ticket: string, sessionId: string): Promise<Caller | undefined> => {
    const holder = await tickets.redeem(ticket, sessionId)
    if (!holder) return undefined
    const { principal, key_id } = holder
    return key_id === null ? { principal, role: 'user', ownerScope: undefined, key: undefined } : keys.byId(key_id)
  }

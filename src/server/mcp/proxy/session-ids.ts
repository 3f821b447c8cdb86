import { rpcCodes } from '../../http/json-rpc-error.ts'
import { createValueCipher, DecryptionError, type Keyring } from '../../platform/encryption.ts'
import { AppError } from '../../platform/errors.ts'

/** Session of a principal at a server. */
export interface SessionPlace {
  readonly server: { readonly server_id: string; readonly url: string }
  readonly principal: string
}

/**
 * Session ids for clients: the id of the upstream server, encrypted and bound to the server and the principal. So every
 * replica knows whose session it is, and only that caller can use it. Security: S31.
 */
export type SessionIds = ReturnType<typeof createSessionIds>

export function createSessionIds(keyring: Keyring) {
  const cipher = createValueCipher(keyring, 'MCP session id')
  const bound = ({ server, principal }: SessionPlace) => [server.server_id, server.url, principal]
  return {
    /** Returns the id for the client. */
    wrap: (upstreamId: string, place: SessionPlace): string =>
      cipher.encrypt(upstreamId, bound(place)).sealed.toString('base64url'),

    /** Returns the id of the upstream server. Throws `not_found` for an id of another principal or server. */
    unwrap(id: string, place: SessionPlace): string {
      try {
        return cipher.decrypt(Buffer.from(id, 'base64url'), bound(place)).toString()
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error
        throw new AppError('not_found', 'session not found; send initialize again', {
          fields: { rpc: String(rpcCodes.sessionNotFound) },
        })
      }
    },
  }
}

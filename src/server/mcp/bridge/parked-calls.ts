import { randomBytes } from 'node:crypto'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { RpcFailure } from '../client/json-rpc.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { OpenCall } from './open-call.ts'
import { questionMs } from './silence.ts'

/** Whose call at which server. */
interface Place {
  readonly server: Pick<RegisteredServer, 'server_id' | 'server_name' | 'url'>
  readonly principal: string
}

interface Parked {
  readonly call: OpenCall
  readonly owner: string
  readonly timer: NodeJS.Timeout
}

/** Calls of one principal that wait for answers of its clients. */
const maxParked = 50

/**
 * Calls at legacy servers that wait for answers of modern clients, by `requestState`. They live in this process,
 * because their connections do.
 */
export type ParkedCalls = ReturnType<typeof createParkedCalls>

export function createParkedCalls() {
  const parked = new Map<string, Parked>()
  const ownerOf = ({ server, principal }: Place): string => JSON.stringify([server.server_id, server.url, principal])

  return {
    /** Returns the `requestState` with which the client continues the call. Throws `rate_limited`. */
    park(call: OpenCall, place: Place): string {
      const owner = ownerOf(place)
      const count = [...parked.values()].filter(each => each.owner === owner).length
      if (count >= maxParked) {
        const problem = `this key has ${maxParked} unanswered calls of MCP server ${place.server.server_name}, its limit`
        const error = new AppError('rate_limited', `${problem}; answer them first`)
        call.cancel(error)
        throw error
      }
      const state = randomBytes(24).toString('base64url')
      const expire = () => {
        parked.delete(state)
        call.cancel(new AppError('upstream_timeout', 'the client did not answer in time'))
      }
      parked.set(state, { call, owner, timer: setTimeout(expire, questionMs) })
      return state
    },

    /** Returns the call of a request that continues it. Throws RpcFailure for an unknown or another request. */
    take(state: unknown, place: Place, request: { readonly method: string; readonly params: Json }): OpenCall {
      const found = typeof state === 'string' ? parked.get(state) : undefined
      if (!found || found.owner !== ownerOf(place) || !found.call.isSame(request))
        throw new RpcFailure(
          rpcCodes.invalidParams,
          'params.requestState is not known for this request: its call has ended, or runs in another process; send the request again without it',
        )
      parked.delete(state as string)
      clearTimeout(found.timer)
      return found.call
    },

    close(): void {
      for (const { call, timer } of parked.values()) {
        clearTimeout(timer)
        call.cancel(new AppError('unavailable', 'the process stops; retry after 1 s'))
      }
      parked.clear()
    },
  }
}

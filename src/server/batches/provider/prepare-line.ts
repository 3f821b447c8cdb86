import type { BatchRequest, BatchTarget } from '../../gateway/batching/batch-api.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { AppError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import { callOf, type LineKeys, ownWaitMs, payerOf } from '../line-call.ts'
import type { ClaimedLine } from '../line-store.ts'

/** A line with its request to the provider, and what was reserved for it. */
export interface ReadyLine {
  readonly line: ClaimedLine
  readonly requestId: string
  readonly request: BatchRequest
  /** Body of the call that hooks have changed; null for that of the line. */
  readonly changed: string | null
}

/** What becomes of a line. */
export type Preparation =
  | ({ readonly kind: 'ready' } & ReadyLine)
  /** It is called singly, which also reports its error. */
  | { readonly kind: 'single'; readonly line: ClaimedLine; readonly reserved?: string }
  /** A limit of the key or of this service has no room for now. */
  | { readonly kind: 'later'; readonly line: ClaimedLine; readonly waitMs: number }
  /** A budget or a freeze stops the calls of the whole batch. */
  | { readonly kind: 'waiting'; readonly line: ClaimedLine; readonly reason: string }

interface Deps {
  readonly gateway: Pick<Gateway, 'batchRequest'>
  readonly keys: LineKeys
  readonly log: Pick<Log, 'warn'>
}

/** Failed submissions after which a line is called singly. */
const maxTries = 3

export type PrepareLine = (line: ClaimedLine, target: BatchTarget, signal: AbortSignal) => Promise<Preparation>

/** Creates the function that makes the request of a line, and reserves its cost at the batch price. It never rejects. */
export function createPrepareLine({ gateway, keys, log }: Deps): PrepareLine {
  async function ready(line: ClaimedLine, target: BatchTarget, signal: AbortSignal): Promise<Preparation> {
    const caller = await payerOf(line, keys)
    const single = { kind: 'single', line } as const
    if (!caller || line.tries >= maxTries) return single
    const requestId = newId('req')
    const call = callOf(line, { caller, requestId, signal })
    const request = await gateway.batchRequest(call)
    if (!request) return single
    // The configuration or a hook has changed the target since the batch was created.
    if (request.deployment !== target.deployment || request.upstream_model !== target.upstream_model)
      return { ...single, reserved: requestId }
    const changed = request.called === call.body ? null : request.called.toString('utf8')
    return { kind: 'ready', line, requestId, request, changed }
  }

  return async (line, target, signal) => {
    try {
      return await ready(line, target, signal)
    } catch (error) {
      if (!(error instanceof AppError)) {
        log.warn({ err: error, batch_id: line.batch_id, line: line.seq }, 'cannot prepare a request; making it singly')
        return { kind: 'single', line }
      }
      if (error.code === 'budget_exceeded') return { kind: 'waiting', line, reason: error.message }
      const waitMs = ownWaitMs(error)
      return waitMs === undefined ? { kind: 'single', line } : { kind: 'later', line, waitMs }
    }
  }
}

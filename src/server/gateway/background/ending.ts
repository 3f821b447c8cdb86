import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, recordOf } from '../../platform/json.ts'
import { inputItems } from '../responses/request.ts'
import type { ResponseName } from '../responses/store.ts'
import type { Answered, ResponseError } from './answer-sink.ts'
import { encryptEvents, whileClaimed } from './event-writer.ts'
import { eventsIn, firstAnswerEvent, frameOf } from './events.ts'
import { decryptRequest } from './request.ts'
import type { BackgroundStatus, Claim } from './rows.ts'
import type { BackgroundStore } from './store.ts'

export interface Ciphers {
  readonly requests: RowCipher<'background_responses'>
  readonly events: RowCipher<'background_events'>
  readonly contents: RowCipher<'response_contents'>
}

interface Deps {
  readonly store: Pick<BackgroundStore, 'end' | 'page'>
  readonly ciphers: Ciphers
}

/** Why a response ends without its whole answer. */
export interface EarlyEnd {
  readonly status: 'failed' | 'cancelled'
  readonly error: ResponseError | null
}

/** End of a response that its client or an operator has stopped. */
export const cancelled: EarlyEnd = { status: 'cancelled', error: null }

/** Ends of background responses: the status, the last event and the stored content, in one transaction. */
export type Ending = ReturnType<typeof createEnding>

export function createEnding({ store, ciphers }: Deps) {
  /** Yields the events of a response, page by page. */
  async function* eventsOf(name: ResponseName): AsyncGenerator<Json> {
    for (let from = 0; ; ) {
      const rows = (await store.page(name, from))?.rows ?? []
      for (const row of rows) yield* eventsIn(ciphers.events.decrypt(row).toString())
      const last = rows.at(-1)
      if (!last) return
      from = last.last_event + 1
    }
  }

  /** Returns the response as it was created. */
  async function created(name: ResponseName): Promise<Json> {
    for await (const event of eventsOf(name)) return recordOf(event['response'])
    throw new AppError('not_found', `response ${name.id} was deleted`, { fields: { code: 'response_not_found' } })
  }

  /** Returns the items that the stored events have completed. */
  async function itemsOf(claim: Claim): Promise<Json[]> {
    const items: Json[] = []
    if (claim.next_event <= firstAnswerEvent) return items
    for await (const event of eventsOf(claim))
      if (event['type'] === 'response.output_item.done') items.push(recordOf(event['item']))
    return items
  }

  async function finish(claim: Claim, { status, response, deployment, upstreamId }: Finish): Promise<boolean> {
    const { principal, id, next_event: number } = claim
    const input = inputItems(decryptRequest(ciphers.requests, claim).body)
    const row = { principal, id, version: nextVersion(undefined) }
    const content = { ...row, ...ciphers.contents.encrypt(JSON.stringify({ input, response }), row) }
    const frames = frameOf({ type: `response.${status}`, response }, number)
    return store.end(claim, {
      status,
      nextEvent: claim.is_stream ? number + 1 : number,
      events: claim.is_stream
        ? encryptEvents(ciphers.events, claim, { frames, first: number, last: number })
        : undefined,
      deployment,
      upstreamId,
      content,
    })
  }

  const early = async (claim: Claim, { status, error }: EarlyEnd): Promise<boolean> => {
    const response = { ...(await created(claim)), status, error, output: await itemsOf(claim) }
    return finish(claim, { status, response, deployment: '', upstreamId: null })
  }

  return {
    created,

    /** Cancels a claimed response. Returns false if it was claimed again. */
    cancel: (claim: Claim): Promise<boolean> => early(claim, cancelled),

    /**
     * Ends a response without a whole answer, as soon as the database is available. `next_event` must be that after the
     * last stored event.
     */
    early: (claim: Claim, end: EarlyEnd, lost: AbortSignal): Promise<boolean | undefined> =>
      whileClaimed(lost, () => early(claim, end)),

    /** Ends a response with the answer of a run. */
    answered(claim: Claim, answered: Answered, lost: AbortSignal): Promise<boolean | undefined> {
      const { response, error } = answered
      if (response) return whileClaimed(lost, () => finish(claim, { ...answered, response }))
      return whileClaimed(lost, () => early(claim, { status: 'failed', error }))
    },
  }
}

interface Finish extends Pick<Answered, 'deployment' | 'upstreamId'> {
  readonly status: BackgroundStatus
  readonly response: Json
}

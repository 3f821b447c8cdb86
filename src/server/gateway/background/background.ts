import type { KeyAccess } from '../../http/caller.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import { editTopLevel } from '../bytes/body-edit.ts'
import type { Call, Outcome, ParsedRequest, Sink } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import { ownIdOf } from '../responses/calls.ts'
import type { Preparation } from '../responses/preparation.ts'
import { inputItems, type StateRequest } from '../responses/request.ts'
import type { ResponseName } from '../responses/store.ts'
import { noTokens } from '../tokens/token-counts.ts'
import type { Ciphers, Ending } from './ending.ts'
import { encryptEvents } from './event-writer.ts'
import { framesFrom } from './events.ts'
import { decryptRequest, encryptRequest, queuedResponse } from './request.ts'
import type { Progress } from './rows.ts'
import type { BackgroundStore } from './store.ts'
import type { EventStreams } from './streams.ts'

interface Deps {
  readonly store: BackgroundStore
  readonly ciphers: Ciphers
  readonly ending: Ending
  readonly streams: EventStreams
  readonly gateway: Pick<Gateway, 'checkLater'>
  readonly preparation: Preparation
  readonly storePolicy: () => 'client' | 'never'
  /** Maximum queued responses per key. */
  readonly maxQueued: () => number
}

/** What a reader of events asks for. */
interface ResumeQuery {
  readonly name: ResponseName
  /** Number of the last event that the reader has; undefined for all events. */
  readonly startingAfter: number | undefined
}

/** Background responses: Responses calls that run without their client. */
export type Background = ReturnType<typeof createBackground>

export function createBackground(deps: Deps) {
  const { store, ciphers, ending, streams, gateway, preparation, storePolicy, maxQueued } = deps

  function rejectUnstored({ isStored }: StateRequest, { session }: Call): void {
    if (!isStored) throw invalid('background requires store: true; omit store, or set background to false')
    if (storePolicy() === 'never')
      throw invalid('background responses must be stored; set responses.store to client in the configuration')
    if (session) throw invalid('background must be false: a program of a session cannot start background responses')
  }

  /** Queues a checked request. Returns the response as it is until it runs. */
  async function queue(call: Call, { previousId }: StateRequest, { model, stream }: ParsedRequest) {
    const { body } = editTopLevel(call.body, { remove: ['background'] })
    const { own } = await preparation.prepare({ ...call, body }, previousId)
    // A malformed input is rejected before it is queued.
    inputItems(own.body)
    const name = { principal: call.caller.principal, id: ownIdOf(call.requestId) }
    const response = queuedResponse(own.body, { id: name.id, model, previousId })
    const begin = ['response.created', 'response.queued'].map(type => ({ type, response }))
    const row = {
      ...name,
      apiKeyId: call.caller.key?.id ?? null,
      previousId: previousId ?? null,
      isStream: stream,
      request: encryptRequest(ciphers.requests, name, own),
      events: encryptEvents(ciphers.events, name, { frames: framesFrom(begin, 0), first: 0, last: 1 }),
    }
    if (!(await store.create(row, maxQueued()))) throw tooManyQueued(call.caller.key, maxQueued())
    return { name, response }
  }

  return {
    /** Queues a response and answers with it, or with its events. */
    async start(call: Call, state: StateRequest, sink: Sink): Promise<Outcome> {
      rejectUnstored(state, call)
      const parsed = await gateway.checkLater(call)
      // First: a client without a free stream must not leave a response behind.
      const slot = parsed.stream ? await streams.open(call.caller) : undefined
      try {
        const { name, response } = await queue(call, state, parsed)
        if (slot) return await slot.write({ name, after: -1, call, sink })
        writeWhole(response, call, sink)
        return answered
      } finally {
        slot?.close()
      }
    },

    /** Writes the events of a response after a position, and follows new ones. Throws for one without a stream. */
    async resume({ name, startingAfter }: ResumeQuery, call: Call, sink: Sink): Promise<Outcome> {
      const progress = await store.find(name)
      if (!progress?.is_stream)
        throw invalid(
          `stream must be false: response ${name.id} was not created with background: true and stream: true; poll it instead`,
        )
      const last = progress.next_event - 1
      if (startingAfter !== undefined && startingAfter > last)
        throw invalid(`starting_after ${startingAfter} is beyond the last event of response ${name.id}, ${last}`)
      const slot = await streams.open(call.caller)
      try {
        return await slot.write({ name, after: startingAfter ?? -1, call, sink })
      } finally {
        slot.close()
      }
    },

    /** Returns a response that has not ended; undefined for all others. */
    async unfinished(name: ResponseName): Promise<Json | undefined> {
      const progress = await store.find(name)
      return progress && isOpen(progress) ? { ...(await ending.created(name)), status: progress.status } : undefined
    },

    /** Returns the input of a response that has not ended; undefined for all others. */
    async input(name: ResponseName): Promise<readonly Json[] | undefined> {
      const request = await store.request(name)
      return request && inputItems(decryptRequest(ciphers.requests, request).body)
    },

    /**
     * Cancels a response unless it has ended. Resolves once it has ended, by this or otherwise; to false if it is not a
     * background response.
     */
    async cancel(name: ResponseName): Promise<boolean> {
      const claim = await store.cancel(name)
      if (claim && (await ending.cancel(claim))) return true
      for (let tries = 0; tries < endTries; tries++) {
        const progress = await store.find(name)
        if (!progress || !isOpen(progress)) return progress !== undefined
        // Another request cancels it at the same time.
        await pause(endPauseMs)
      }
      throw new AppError('unavailable', `response ${name.id} is being cancelled; retry in a second`, {
        headers: { 'retry-after': '1' },
      })
    },

    /** Stops the run of a deleted response. */
    noteDeleted: store.noteDeleted,
    cancelAll: store.cancelAll,
  }
}

const endTries = 50
const endPauseMs = 100
const isOpen = ({ status }: Progress): boolean => status === 'queued' || status === 'in_progress'

/** Outcome of a request that has queued a response: its run is booked as a call of its own. */
const answered: Outcome = {
  outcome: 'completed',
  status: 200,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

function writeWhole(response: Json, { requestId }: Call, sink: Sink): void {
  const body = Buffer.from(JSON.stringify(response))
  sink.head(200, {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'x-switchyard-request-id': requestId,
  })
  sink.end(body)
}

function tooManyQueued(key: KeyAccess | undefined, limit: number): AppError {
  const whose = key ? 'this key' : 'the master key'
  return new AppError(
    'rate_limited',
    `${whose} has ${limit} queued background responses, its limit; retry when some of them have started`,
    { headers: { 'retry-after': '10' } },
  )
}

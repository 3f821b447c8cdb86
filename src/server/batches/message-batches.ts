import { createHash, type Hash, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { maxMessageRequests } from '../../contract/batches.ts'
import type { OnceKey } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { isRecord, type Json, jsonOr } from '../platform/json.ts'
import { type BatchRow, type BatchStore, ClaimLost, type NewCall } from './batch-store.ts'
import { lineError, rejectMany } from './errors.ts'
import { type LineWriter, lineWriterOf } from './new-lines.ts'
import type { TargetOfLine } from './provider/target-of-line.ts'
import { requestsIn } from './requests-reader.ts'

interface Deps {
  readonly store: BatchStore
  readonly targetOf: TargetOfLine
  /** Notifies the processes that make the calls. */
  readonly announce: () => void
  readonly maxRequests?: number
}

interface Sent {
  readonly body: AsyncIterable<Buffer>
  readonly headers: IncomingHttpHeaders
  readonly caller: Caller
  /** Identifies the request, so that a repeat returns the batch of the first. */
  readonly request?: Omit<OnceKey, 'bodyHash'> | undefined
  /** Called with the name of each field that has no effect. */
  readonly onIgnored: (name: string) => void
}

/** As large as the body of a single call. */
const maxRequestBytes = 32 * 1024 * 1024

/** Creates batches in Anthropic's format from a request whose body is read and stored piece by piece. */
export const createMessageBatches =
  ({ store, targetOf, announce, maxRequests = maxMessageRequests }: Deps) =>
  async ({ body, headers, caller, request, onIgnored }: Sent): Promise<BatchRow> => {
    const claim = { id: newId('msgbatch'), claim: randomUUID() }
    const by = { principal: caller.principal, key_id: caller.key?.id ?? null }
    const about = { kind: 'messages', headers: versionsIn(headers), state: 'receiving' } as const
    rejectMany(await store.open(caller.principal))
    await store.insert({ id: claim.id, format: 'anthropic', ...by, ...about }, claim.claim)
    try {
      const writer = lineWriterOf(store, claim)
      const hash = createHash('sha256')
      const requests = requestsIn(hashed(body, hash), { maxBytes: maxRequestBytes, onOther: onIgnored })
      await addRequests(requests, { writer, targetOf, maxRequests })
      const counts = await writer.end()
      const row = await store.start(claim, counts, request && { ...request, bodyHash: hash.digest() })
      if (row.id !== claim.id) await store.discard(claim)
      announce()
      return row
    } catch (error) {
      // A batch that cannot be discarded now is discarded later.
      await store.discard(claim).catch(() => undefined)
      if (!(error instanceof ClaimLost)) throw error
      throw new AppError('conflict', 'reading the batch took too long; send it again', { cause: error })
    }
  }

async function* hashed(body: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    hash.update(chunk)
    yield chunk
  }
}

/** Headers that each call repeats: Anthropic's versions and betas. */
const versionsIn = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      /^anthropic-(version|beta)$/.test(name) && typeof value === 'string' ? [[name, value]] : [],
    ),
  )

interface Adding extends Pick<Deps, 'targetOf'> {
  readonly writer: LineWriter
  readonly maxRequests: number
}

async function addRequests(requests: AsyncIterable<string>, { writer, targetOf, maxRequests }: Adding): Promise<void> {
  const ids = new Set<string>()
  for await (const text of requests) {
    const at = `requests[${ids.size}]`
    if (ids.size === maxRequests)
      throw invalid(`requests has more than ${maxRequests} items; split them into several batches`)
    const request = jsonOr(text, undefined)
    if (!isRecord(request)) throw invalid(`${at} is not valid JSON`)
    const { custom_id: id, params } = request
    if (typeof id !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(id))
      throw invalid(`${at}.custom_id must be 1 to 64 letters, digits, - or _`)
    if (ids.has(id)) throw invalid(`${at}.custom_id ${id} occurs more than once; custom_id must be unique in a batch`)
    if (!isRecord(params)) throw invalid(`${at}.params must be an object: the body of POST /v1/messages`)
    ids.add(id)
    await writer.add(id, lineOf(params, targetOf))
  }
  if (ids.size === 0) throw invalid('requests must have at least 1 item')
}

function lineOf(params: Json, targetOf: TargetOfLine): NewCall {
  if (params['stream'] === true)
    return { error: lineError('anthropic', 'invalid_request', 'stream is not supported in a batch; omit it') }
  try {
    return { request: JSON.stringify(params), target: targetOf('messages', params) }
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    return { error: lineError('anthropic', 'invalid_request', 'params is nested too deep') }
  }
}

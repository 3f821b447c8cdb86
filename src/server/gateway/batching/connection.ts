import type { Readable } from 'node:stream'
import { type Json, jsonOr, nonEmptyText, recordOf, recordsOf } from '../../platform/json.ts'
import { linesOf } from '../../platform/lines.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'
import { Pool, request } from '../../platform/undici.ts'
import type { Authorize } from '../upstream/authorize.ts'
import { scrubbedText } from '../upstream/scrub.ts'
import type { BatchProvider } from './batch-api.ts'

/** The provider answered with an error. After any other error it may have done what the request says. */
export class BatchRejected extends Error {
  override readonly name = 'BatchRejected'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

interface Sent {
  readonly method?: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | AsyncIterable<Buffer>
}

/** A list of batches, the newest first. */
interface BatchList extends Pick<Sent, 'url' | 'headers'> {
  /** Parameter with the id of the last batch of the previous page. */
  readonly cursor: string
  readonly createdMs: (batch: Json) => number
}

const listed = 100
/** Clocks differ. */
const toleranceMs = 10 * 60_000
/** Of a request with a body, and of any other one. */
const submitMs = 10 * 60_000
const shortMs = 30_000
const maxAnswerBytes = 4 * 1024 * 1024
const connectMs = 10_000
const silenceMs = 60_000
/** An answer of the largest size, escaped. */
const maxLineBytes = 128 * 1024 * 1024
const maxMessageLength = 500

/** Requests to the batch APIs of providers. They reject with `BatchRejected`, or with the error of the connection. */
export type BatchConnection = ReturnType<typeof createBatchConnection>

interface Deps {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
}

export function createBatchConnection({ outbound, authorize }: Deps) {
  const authorized = (provider: BatchProvider, { method = 'GET', url, headers }: Sent) =>
    authorize(provider, { method, url, headers, body: Buffer.alloc(0) })

  /** Returns the JSON object that the provider answers with. */
  async function json(provider: BatchProvider, sent: Sent): Promise<Json> {
    const { method = 'GET', url, body } = sent
    const { status, text } = await smallRequest(outbound, {
      method,
      url,
      headers: await authorized(provider, sent),
      ...(body && { body }),
      maxBytes: maxAnswerBytes,
      totalMs: body ? submitMs : shortMs,
    })
    if (status >= 300) throw new BatchRejected(status, messageIn(text, provider))
    return recordOf(jsonOr(text, undefined))
  }

  return {
    json,

    /** Yields the batches that the provider has created since shortly before a time, the newest first. */
    async *createdSince(provider: BatchProvider, since: Date, { url, headers, cursor, createdMs }: BatchList) {
      let after: string | undefined
      do {
        const place = after === undefined ? '' : `&${cursor}=${encodeURIComponent(after)}`
        const page = await json(provider, { url: `${url}?limit=${listed}${place}`, headers })
        const found = recordsOf(page['data'])
        for (const batch of found) {
          if (createdMs(batch) < since.getTime() - toleranceMs) return
          yield batch
        }
        after = page['has_more'] === true ? nonEmptyText(found.at(-1)?.['id']) : undefined
      } while (after !== undefined)
    },

    /** Yields the JSON objects of a file of lines while it arrives. */
    async *lines(provider: BatchProvider, sent: Sent): AsyncGenerator<Json> {
      const { origin, pathname, search } = new URL(sent.url)
      const pool = new Pool(origin, { connect: outbound.connect(connectMs) })
      try {
        const answer = await request.call(pool, {
          method: 'GET',
          path: `${pathname}${search}`,
          headers: await authorized(provider, sent),
          headersTimeout: silenceMs,
          bodyTimeout: silenceMs,
        })
        if (answer.statusCode >= 300) throw new BatchRejected(answer.statusCode, 'cannot read the results of a batch')
        for await (const line of linesOf(answer.body as Readable, maxLineBytes))
          if (line.trim() !== '') yield recordOf(jsonOr(line, undefined))
      } finally {
        await pool.destroy()
      }
    },
  }
}

/** Returns the id of a provider's object. */
export function idIn(object: Json): string {
  const id = nonEmptyText(object['id'])
  if (id === undefined) throw new Error('the provider answered without an id')
  return id
}

/** Returns the message of an error answer, without the credential. */
function messageIn(text: string, { deployment }: BatchProvider): string {
  const { error, message } = recordOf(jsonOr(text, undefined))
  const found = nonEmptyText(recordOf(error)['message']) ?? nonEmptyText(message) ?? text
  return scrubbedText(found.slice(0, maxMessageLength), deployment)
}

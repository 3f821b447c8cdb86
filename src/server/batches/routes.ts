import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { batchRoutes } from '../../contract/batches.ts'
import { bind } from '../http/bind.ts'
import { bindStream } from '../http/bind-stream.ts'
import { ignoredHeader, ignoredValue } from '../http/ignored-fields.ts'
import { isJsonType, rejectEncoded } from '../http/json-body.ts'
import { AppError } from '../platform/errors.ts'
import type { BatchRow } from './batch-store.ts'
import type { Batches } from './batches.ts'
import type { createFileBatches } from './file-batches.ts'
import type { createMessageBatches } from './message-batches.ts'
import { toBatch, toMessageBatch } from './public-batch.ts'

interface MessageDeps {
  readonly batches: Batches
  readonly create: ReturnType<typeof createMessageBatches>
  readonly publicUrl: () => string
}

const ends = (rows: readonly BatchRow[]) => ({ first_id: rows[0]?.id ?? null, last_id: rows.at(-1)?.id ?? null })

/** Serves batches in Anthropic's format. */
export function serveMessageBatches(app: FastifyInstance, { batches, create, publicUrl }: MessageDeps): void {
  const shown = (row: BatchRow) =>
    toMessageBatch(row, `${publicUrl()}${batchRoutes.results.path.replace('{batch_id}', row.id)}`)

  const answerCreate = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { headers, raw, caller } = request
    rejectEncoded(headers)
    if (!isJsonType(headers['content-type'] ?? ''))
      throw new AppError('unsupported_media_type', 'content type must be application/json')
    const ignored: { name: string }[] = []
    const body = bounded(raw, Number(headers['content-length'] ?? 0))
    const row = await create({ body, headers, caller, onIgnored: name => void ignored.push({ name }) })
    const value = ignoredValue(ignored)
    if (value !== undefined) reply.header(ignoredHeader, value)
    await reply.send(shown(row))
  }
  app.route({
    method: batchRoutes.create_messages.method,
    url: batchRoutes.create_messages.path,
    config: { route: batchRoutes.create_messages },
    // Before the body is read, which is stored while it arrives.
    onRequest(request, reply, fail) {
      answerCreate(request, reply).catch(fail)
    },
    handler: () => {
      throw new AppError('internal', 'a hook of this route answers before its handler (bug)')
    },
  })

  bind(app, batchRoutes.list_messages, async ({ query }, caller) => {
    const { limit = 20, after_id: after, before_id: before } = query
    const { rows, hasMore } = await batches.list({ limit, after, before }, caller)
    return { data: rows.map(shown), has_more: hasMore, ...ends(rows) }
  })
  bind(app, batchRoutes.get_message, async ({ params }, caller) => shown(await batches.get(params.batch_id, caller)))
  bind(app, batchRoutes.cancel_messages, async ({ params }, caller) =>
    shown(await batches.cancel(params.batch_id, caller)),
  )
  bind(app, batchRoutes.remove_messages, async ({ params }, caller) => {
    await batches.remove(params.batch_id, caller)
    return { id: params.batch_id, type: 'message_batch_deleted' } as const
  })
  bindStream(app, batchRoutes.results, async (request, reply) => {
    const { batch_id } = request.params as { batch_id: string }
    const lines = await batches.results(batch_id, request.caller)
    await reply.type('application/x-jsonl').send(Readable.from(lines, { objectMode: false }))
  })
}

interface FileDeps {
  readonly batches: Batches
  readonly create: ReturnType<typeof createFileBatches>
}

/** Serves batches in OpenAI's format. */
export function serveFileBatches(app: FastifyInstance, { batches, create }: FileDeps): void {
  bind(app, batchRoutes.create, async ({ body }, caller) => toBatch(await create(body, caller)))
  bind(app, batchRoutes.list, async ({ query }, caller) => {
    const { rows, hasMore } = await batches.list({ limit: query.limit ?? 20, after: query.after }, caller)
    return { object: 'list' as const, data: rows.map(toBatch), ...ends(rows), has_more: hasMore }
  })
  bind(app, batchRoutes.get, async ({ params }, caller) => toBatch(await batches.get(params.batch_id, caller)))
  bind(app, batchRoutes.cancel, async ({ params }, caller) => toBatch(await batches.cancel(params.batch_id, caller)))
}

/** Yields the chunks of a body of up to 256 MB. Keeps the client's connection open, which an early answer needs. */
async function* bounded(request: FastifyRequest['raw'], length: number): AsyncGenerator<Buffer> {
  const limit = batchRoutes.create_messages.bodyLimit
  let size = 0
  if (length > limit) throw tooLarge(limit)
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw tooLarge(limit)
      yield chunk
    }
  } catch (cause) {
    throw cause instanceof AppError ? cause : new AppError('invalid_request', 'request body was truncated', { cause })
  }
}

const tooLarge = (limit: number): AppError =>
  new AppError('payload_too_large', `request body is larger than ${limit / 1024 / 1024} MB; split the batch`)

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { batchRoutes, type MessageBatch } from '../../contract/batches.ts'
import { bind } from '../http/bind.ts'
import { bindStream } from '../http/bind-stream.ts'
import { idempotencyOf } from '../http/idempotency.ts'
import { ignoredHeader, ignoredValue } from '../http/ignored-fields.ts'
import { receivedChunks } from '../http/received-chunks.ts'
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

  // Only this route reads its body while it arrives.
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    serveCreate(scope, { create, shown })
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

/** More than the header can list. */
const maxIgnored = 100

interface CreateDeps {
  readonly create: MessageDeps['create']
  readonly shown: (row: BatchRow) => MessageBatch
}

function serveCreate(app: FastifyInstance, { create, shown }: CreateDeps): void {
  const { create_messages: route } = batchRoutes
  app.route({
    method: route.method,
    url: route.path,
    config: { route },
    bodyLimit: route.bodyLimit,
    async handler(request, reply) {
      const { raw, headers, caller, server } = request
      const ignored: { name: string }[] = []
      const onIgnored = (name: string) => {
        if (ignored.length < maxIgnored) ignored.push({ name })
      }
      const end = server.slowBodies.allow(raw)
      try {
        const body = bounded(raw, route.bodyLimit)
        const row = await create({ body, headers, caller, request: idempotencyOf(request, route, caller), onIgnored })
        const value = ignoredValue(ignored)
        if (value !== undefined) reply.header(ignoredHeader, value)
        return shown(row)
      } finally {
        end()
      }
    },
  })
}

interface FileDeps {
  readonly batches: Batches
  readonly create: ReturnType<typeof createFileBatches>
}

/** Serves batches in OpenAI's format. */
export function serveFileBatches(app: FastifyInstance, { batches, create }: FileDeps): void {
  bind(app, batchRoutes.create, async ({ body }, caller, { idempotency }) =>
    toBatch(await create(body, caller, idempotency)),
  )
  bind(app, batchRoutes.list, async ({ query }, caller) => {
    const { rows, hasMore } = await batches.list({ limit: query.limit ?? 20, after: query.after }, caller)
    return { object: 'list' as const, data: rows.map(toBatch), ...ends(rows), has_more: hasMore }
  })
  bind(app, batchRoutes.get, async ({ params }, caller) => toBatch(await batches.get(params.batch_id, caller)))
  bind(app, batchRoutes.cancel, async ({ params }, caller) => toBatch(await batches.cancel(params.batch_id, caller)))
}

/** Yields the chunks of a body of up to `limit` bytes. */
async function* bounded(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  const tooLarge = `request body is larger than ${limit / 1024 / 1024} MB; split the batch`
  if (Number(request.headers['content-length'] ?? 0) > limit) throw new AppError('payload_too_large', tooLarge)
  let size = 0
  for await (const chunk of receivedChunks(request)) {
    size += chunk.length
    if (size > limit) throw new AppError('payload_too_large', tooLarge)
    yield chunk
  }
}

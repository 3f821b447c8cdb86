import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fileRoutes } from '../../contract/files.ts'
import type { Route } from '../../contract/route.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { pageOf } from '../http/page.ts'
import { fastifyPath } from '../http/paths.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { artifactsOf } from './artifacts.ts'
import { changesBetween } from './changes.ts'
import type { FileWrites } from './file-writes.ts'
import { type Files, shown } from './files.ts'

interface Deps {
  readonly files: Files
  readonly writes: FileWrites
  readonly events: Pick<EventStore, 'list'>
}

/** Serves the file routes. Files and archives are binary, so those routes are bound by hand. */
export function serveFiles(app: FastifyInstance, { files, writes, events }: Deps): void {
  bind(app, fileRoutes.list, async ({ params, query }, caller) => {
    const snapshot = await files.snapshot(params.session_id, query.at, caller)
    const all = files.list(snapshot, query.path ?? '/workspace')
    const load = async ({ after = '', limit }: { after: string | undefined; limit: number }) =>
      all.filter(({ path }) => path > after).slice(0, limit)
    const { items, next_cursor } = await pageOf(query, load, ({ path }) => path)
    return { data: items.map(shown), as_of: snapshot.asOf, next_cursor }
  })
  bind(app, fileRoutes.artifacts, async ({ params, query }, caller) => {
    const { session_id: id } = params
    const now = await files.snapshot(id, query.at, caller)
    const start = await files.snapshot(id, 'start', caller)
    const states = { before: start.manifest, now: now.manifest, until: now.asOf?.seq ?? 0 }
    const all = await artifactsOf(events, { sessionId: id, ...states })
    const load = async ({ after = '', limit }: { after: string | undefined; limit: number }) =>
      all.filter(({ path }) => path > after).slice(0, limit)
    const { items, next_cursor } = await pageOf(query, load, ({ path }) => path)
    return { data: items.map(shown), as_of: now.asOf, next_cursor }
  })
  bind(app, fileRoutes.checkpoints, async ({ params, query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => files.checkpoints(params.session_id, page, caller),
      ({ seq }) => String(seq),
    )
    return { data: items, next_cursor }
  })
  bind(app, fileRoutes.diff, async ({ params, query }, caller) => {
    const from = await files.snapshot(params.session_id, query.from ?? 'start', caller)
    const to = await files.snapshot(params.session_id, query.to, caller)
    return { from: from.asOf, to: to.asOf, ...(await changesBetween(files, from, to)) }
  })
  serveBytes(app, fileRoutes.archive, async (request, reply) => {
    const { session_id, caller, at } = partsOf(request)
    const snapshot = await files.snapshot(session_id, at, caller)
    return reply
      .type('application/gzip')
      .headers({
        ...download,
        'content-disposition': `attachment; filename="${session_id.replaceAll(/\W/g, '')}.tar.gz"`,
      })
      .send(files.archive(snapshot))
  })
  serveBytes(app, fileRoutes.read, async (request, reply) => {
    const { session_id, caller, at, path } = partsOf(request)
    const snapshot = await files.snapshot(session_id, at, caller)
    const file = files.file(snapshot, path)
    return reply
      .type('application/octet-stream')
      .headers({ ...download, etag: `"${file.hash}"`, 'content-length': file.size })
      .send(Readable.from(files.contentOf(snapshot.owner, file)))
  })
  // Only these routes accept a body of any content type.
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    serveBytes(scope, fileRoutes.write, async (request, reply) => {
      const { session_id: id, caller, path } = partsOf(request)
      const body = (request.body ?? Readable.from([])) as AsyncIterable<Buffer>
      return reply.send(shown(await writes.write({ id, path, caller }, body)))
    })
    serveBytes(scope, fileRoutes.remove, async (request, reply) => {
      const { session_id: id, caller, path } = partsOf(request)
      await writes.remove({ id, path, caller })
      return reply.code(204).send()
    })
  })
}

/** Forces a download, so that a browser never executes a file of the workspace. */
const download = {
  'content-disposition': 'attachment',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function serveBytes(app: FastifyInstance, route: Route, handler: Answer): void {
  const { params, query, method, bodyLimit } = route
  const url = fastifyPath(route).replace(/:path$/, '*')
  app.route({
    method,
    url,
    config: { route },
    exposeHeadRoute: false,
    schema: { ...(params && url.endsWith('*') === false && { params }), ...(query && { querystring: query }) },
    ...(bodyLimit !== undefined && { bodyLimit }),
    handler,
  })
}

interface Parts {
  readonly session_id: string
  readonly path: string
  readonly at: string | undefined
  readonly caller: Caller
}

function partsOf({ params, query, caller }: FastifyRequest): Parts {
  const { session_id, '*': path = '' } = params as { readonly session_id: string; readonly '*'?: string }
  return { session_id, path, at: (query as { readonly at?: string }).at, caller }
}

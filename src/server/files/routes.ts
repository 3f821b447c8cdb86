import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Input } from '../../contract/route.ts'
import { storedFileRoutes } from '../../contract/stored-files.ts'
import { actorOf, bind } from '../http/bind.ts'
import { idempotencyOf } from '../http/idempotency.ts'
import { ignoredHeader, ignoredValue } from '../http/ignored-fields.ts'
import { fastifyPath } from '../http/paths.ts'
import { vendorOf } from '../http/vendor.ts'
import { invalid } from '../platform/errors.ts'
import { anthropicFile, openAiFile } from './file-shapes.ts'
import type { FileInfo, FilesPage } from './file-store.ts'
import type { Files } from './files.ts'
import { receiveUpload } from './upload.ts'

interface Deps {
  readonly files: Files
}

/** Serves files in the formats of both vendors. Uploads and downloads are binary, so they are bound by hand. */
export function serveStoredFiles(app: FastifyInstance, { files }: Deps): void {
  bind(app, storedFileRoutes.list, async ({ query }, { principal }, { raw }) => {
    if (vendorOf(raw.headers) === 'openai') {
      const { rows, ...ends } = await pageOf(files, principal, openAiPage(query))
      return { object: 'list' as const, data: rows.map(openAiFile), ...ends }
    }
    const ids = query['ids[]']
    if (ids !== undefined) return namedFiles(await files.among(principal, [ids].flat()), query)
    const { rows, ...ends } = await pageOf(files, principal, anthropicPage(query))
    return { data: rows.map(anthropicFile), ...ends, next_page: ends.has_more ? ends.last_id : null }
  })
  bind(app, storedFileRoutes.get, async ({ params }, { principal }, { raw }) =>
    shapedFor(raw.headers)(await files.get(principal, params.file_id)),
  )
  bind(app, storedFileRoutes.remove, async ({ params: { file_id: id } }, { principal }, { raw, actor }) => {
    await files.remove(id, { owner: principal, actor })
    return vendorOf(raw.headers) === 'anthropic'
      ? { id, type: 'file_deleted' as const }
      : { id, object: 'file' as const, deleted: true as const }
  })
  serveContent(app, files)
  // Only this route accepts a body of any content type, to read it while it arrives.
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    serveUpload(scope, files)
  })
}

const shapedFor = (
  headers: FastifyRequest['headers'],
): ((file: FileInfo) => ReturnType<typeof openAiFile | typeof anthropicFile>) =>
  vendorOf(headers) === 'anthropic' ? anthropicFile : openAiFile

function serveUpload(app: FastifyInstance, files: Files): void {
  const { upload: route } = storedFileRoutes
  app.route({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    bodyLimit: route.bodyLimit,
    async handler(request, reply) {
      const { raw, headers, caller, server } = request
      const owner = caller.principal
      // Before the body is read.
      const idempotency = idempotencyOf(request, route, caller)
      const end = server.slowBodies.allow(raw)
      try {
        const { received, ignored, ...fields } = await receiveUpload(raw, { files, owner, vendor: vendorOf(headers) })
        const file = await files.add(received, fields, { owner, actor: actorOf(request), idempotency })
        const value = ignoredValue(ignored.map(name => ({ name })))
        if (value !== undefined) reply.header(ignoredHeader, value)
        return shapedFor(headers)(file)
      } finally {
        end()
      }
    },
  })
}

function serveContent(app: FastifyInstance, files: Files): void {
  const { content: route } = storedFileRoutes
  app.route({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    exposeHeadRoute: false,
    schema: { params: route.params },
    async handler({ params, caller }, reply) {
      const file = await files.get(caller.principal, (params as Input<typeof route>['params']).file_id)
      return reply
        .type('application/octet-stream')
        .headers({
          // A download, so that a browser never shows it as a page of this service.
          'content-disposition': `attachment; filename*=UTF-8''${encoded(file.filename)}`,
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
          etag: `"${file.sha256}"`,
          'content-length': file.bytes,
        })
        .send(Readable.from(files.contentOf(file)))
    },
  })
}

/** Source: RFC 5987. */
const encoded = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, sign => `%${sign.charCodeAt(0).toString(16)}`)

/** Returns a page of a list and its ends. */
async function pageOf(files: Files, owner: string, page: FilesPage) {
  const found = await files.list(owner, { ...page, limit: page.limit + 1 })
  // The extra row of a page that is read backwards is its first one.
  const isBackwards = page.before !== undefined && page.after === undefined
  const rows = isBackwards ? found.slice(-page.limit) : found.slice(0, page.limit)
  return {
    rows,
    has_more: found.length > page.limit,
    first_id: rows[0]?.id ?? null,
    last_id: rows.at(-1)?.id ?? null,
  }
}

type Query = Input<typeof storedFileRoutes.list>['query']

function openAiPage({ limit = 10_000, after, order = 'desc', purpose, ...others }: Query): FilesPage {
  const [foreign] = Object.keys(others).filter(name => anthropicNames.has(name))
  if (foreign) throw invalid(`${foreign} needs a header anthropic-version; use after, limit, order and purpose`)
  return { limit, after, order, purpose }
}

const anthropicNames: ReadonlySet<string> = new Set(['after_id', 'before_id', 'page', 'ids[]', 'scope_id'])

function anthropicPage({ limit = 20, after_id, before_id, page, ...others }: Query): FilesPage {
  rejectForeign(others)
  if (limit > 1_000) throw invalid('limit must be at most 1000')
  const [cursor, second] = [page, after_id, before_id].filter(id => id !== undefined)
  if (second !== undefined) throw invalid('page, after_id and before_id exclude each other')
  return { limit, after: before_id === undefined ? cursor : undefined, before: before_id, order: 'desc' }
}

function namedFiles(found: readonly FileInfo[], { limit, page, after_id, before_id, 'ids[]': _, ...others }: Query) {
  rejectForeign(others)
  if ([limit, page, after_id, before_id].some(given => given !== undefined))
    throw invalid('ids excludes limit, page, after_id and before_id')
  const data = found.toSorted((a, b) => (a.id < b.id ? 1 : -1)).map(anthropicFile)
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, next_page: null }
}

function rejectForeign({ after, order, purpose, scope_id }: Query): void {
  if (after !== undefined || order !== undefined || purpose !== undefined)
    throw invalid('after, order and purpose are parameters of OpenAI’s format; use page, after_id or before_id')
  if (scope_id !== undefined) throw invalid('scope_id is not supported: files have no scope')
}

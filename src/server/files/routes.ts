import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Input } from '../../contract/route.ts'
import { storedFileRoutes } from '../../contract/stored-files.ts'
import { actorOf, bind } from '../http/bind.ts'
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
    const isAnthropic = vendorOf(raw.headers) === 'anthropic'
    const page = isAnthropic ? anthropicPage(query) : openAiPage(query)
    const rows = await files.list(principal, { ...page, limit: page.limit + 1 })
    const has_more = rows.length > page.limit
    // The extra row of a page that is read backwards is its first one.
    const isBackwards = page.before !== undefined && page.after === undefined
    const shown = isBackwards ? rows.slice(-page.limit) : rows.slice(0, page.limit)
    const ends = { has_more, first_id: shown[0]?.id ?? null, last_id: shown.at(-1)?.id ?? null }
    return isAnthropic
      ? { data: shown.map(anthropicFile), ...ends }
      : { object: 'list' as const, data: shown.map(openAiFile), ...ends }
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

const shapedFor = (headers: FastifyRequest['headers']): ((file: FileInfo) => ReturnType<typeof openAiFile | typeof anthropicFile>) =>
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
      const end = server.slowBodies.allow(raw)
      try {
        const { received, ignored, ...fields } = await receiveUpload(raw, { files, owner, vendor: vendorOf(headers) })
        const file = await files.add(received, fields, { owner, actor: actorOf(request) })
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

type Query = Input<typeof storedFileRoutes.list>['query']

function openAiPage({ limit = 10_000, after, order = 'desc', purpose, after_id, before_id }: Query): FilesPage {
  if (after_id !== undefined || before_id !== undefined)
    throw invalid('after_id and before_id need a header anthropic-version; use after')
  return { limit, after, order, purpose }
}

function anthropicPage({ limit = 20, after, order, purpose, after_id, before_id }: Query): FilesPage {
  if (after !== undefined || order !== undefined || purpose !== undefined)
    throw invalid('after, order and purpose are not parameters of Anthropic’s format; use after_id or before_id')
  if (limit > 1_000) throw invalid('limit must be at most 1000')
  if (after_id !== undefined && before_id !== undefined) throw invalid('after_id and before_id exclude each other')
  return { limit, after: after_id, before: before_id, order: 'desc' }
}

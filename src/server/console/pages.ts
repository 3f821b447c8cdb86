import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { systemRoutes } from '../../contract/system.ts'
import { fastifyPaths } from '../http/paths.ts'
import { pageHeaders } from '../http/public-page.ts'
import { AppError } from '../platform/errors.ts'
import { acceptedEncoding } from './accepted-encoding.ts'
import { noncePlaceholder } from './build-list.ts'
import type { BuildStatus } from './build-status.ts'
import type { Builds, ConsoleFile } from './builds.ts'
import { consoleHeaders, newNonce } from './content-policy.ts'
import { progressPage } from './progress-page.ts'

interface Deps {
  readonly builds: Builds
  /** Why there is no build. */
  readonly status: () => Promise<BuildStatus>
  readonly nowMs: () => number
}

const html = 'text/html; charset=utf-8'
/** Names of these files contain a digest of their content. */
const hashedFolder = 'assets/'

/** Serves the console: its page at `/` and below `/console/`, where its files are too. */
export function serveConsole(app: FastifyInstance, { builds, status, nowMs }: Deps): void {
  async function sendPage(reply: FastifyReply): Promise<FastifyReply> {
    const text = await builds.page()
    if (text === undefined)
      return reply
        .headers(pageHeaders)
        .type(html)
        .send(progressPage(await status(), nowMs()))
    const nonce = newNonce()
    return reply.headers(consoleHeaders(nonce)).type(html).send(text.replaceAll(noncePlaceholder, nonce))
  }

  async function sendFileOrPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = (request.params as { readonly '*'?: string })['*'] ?? ''
    const file = await builds.file(path)
    if (file) return sendFile(request, reply, { file, isHashed: path.startsWith(hashedFolder) })
    if (path.startsWith(hashedFolder))
      throw new AppError('not_found', 'the console has no such file; reload the page to get the current build')
    return sendPage(reply)
  }

  bindPages(app, (_request, reply) => sendPage(reply), sendFileOrPage)
}

/** Redirects to the API reference, for a service without the console. */
export function serveWithoutConsole(app: FastifyInstance): void {
  const redirect = async (_request: FastifyRequest, reply: FastifyReply) => reply.redirect(systemRoutes.docs.path)
  bindPages(app, redirect, redirect)
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function bindPages(app: FastifyInstance, home: Handler, below: Handler): void {
  const bindings = [
    [systemRoutes.home, home],
    [systemRoutes.console, below],
  ] as const
  for (const [route, handler] of bindings) {
    for (const path of fastifyPaths(route)) {
      const url = path.replace(/:path$/, '*')
      app.route({ method: 'GET', url, exposeHeadRoute: true, config: { route }, handler })
    }
  }
}

interface Sent {
  readonly file: ConsoleFile
  readonly isHashed: boolean
}

function sendFile({ headers }: FastifyRequest, reply: FastifyReply, { file, isHashed }: Sent): FastifyReply {
  const encoding = acceptedEncoding(headers['accept-encoding'], new Set(file.encoded.keys()))
  const tag = `"${file.digest}${encoding === undefined ? '' : `-${encoding}`}"`
  reply.headers({
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: tag,
    'x-content-type-options': 'nosniff',
    ...(file.encoded.size > 0 && { vary: 'accept-encoding' }),
  })
  if (isUnchanged(headers['if-none-match'], tag)) return reply.code(304).send()
  if (encoding !== undefined) reply.header('content-encoding', encoding)
  return reply.type(file.type).send((encoding && file.encoded.get(encoding)) ?? file.body)
}

/** Compares weakly: proxies that compress mark tags as weak. */
const isUnchanged = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some(each => each.trim().replace(/^W\//, '') === tag) ?? false

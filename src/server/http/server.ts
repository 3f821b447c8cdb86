import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import type { Route } from '../../contract/route.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { mediaTypeIn } from '../platform/media-type.ts'
import type { RequestLog } from '../platform/request-log.ts'
import type { Authenticate } from './auth.ts'
import { type Caller, masterCaller, tracedCaller } from './caller.ts'
import { type AddressOf, createAddressOf } from './client-address.ts'
import { createAnswerClientError } from './client-error.ts'
import { type BodyShape, errorAnswer } from './error-body.ts'
import { isJsonType, parseJsonBody, rejectEncoded } from './json-body.ts'
import { closeLingering } from './lingering-close.ts'
import { allowedMethods } from './paths.ts'
import { notForPrograms } from './reach.ts'
import { createSerializerCompiler } from './serialization.ts'
import { createSlowBodies, type SlowBodies } from './slow-bodies.ts'
import { needsKey, noSuchPath, pathOf, shapeOfPath } from './unknown-path.ts'
import { createValidatorCompiler, validationMessage } from './validation.ts'
import { vendorOf } from './vendor.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the body is read, on all routes except public ones. */
    caller: Caller
  }
  interface FastifyInstance {
    readonly addressOf: AddressOf
    readonly slowBodies: SlowBodies
  }
  interface FastifyContextConfig {
    route?: Route
  }
}

interface Options {
  readonly authenticate: Authenticate
  readonly log: Log
  readonly requestLog?: RequestLog
  /** Trusts no proxy by default. */
  readonly addressOf?: AddressOf
}

const defaultBodyLimit = 2 * 1024 * 1024

/** Creates the HTTP server without routes: authentication, error bodies, strict JSON, request ids. */
export function createServer({
  authenticate,
  log,
  requestLog,
  addressOf = createAddressOf([]),
}: Options): FastifyInstance {
  /** Requires a key even for unknown paths, so that they do not reveal which paths exist. */
  const requireKey = async ({ raw, url }: FastifyRequest): Promise<void> => {
    if (needsKey(url)) await authenticate(raw, /^\/(v1beta|gemini)/.test(url) ? 'google-key' : 'key')
  }

  /** Answers a path that the router cannot parse, for which Fastify runs neither hooks nor the error handler. */
  async function rejectUnroutable(error: FastifyError, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { url } = request
    const isBadUrl = error.code === 'FST_ERR_BAD_URL'
    const rejection = isBadUrl ? invalid('invalid path: it contains an invalid % sequence') : noSuchPath(url)
    const thrown = await requireKey(request).then(
      () => rejection,
      (unauthorized: unknown) => unauthorized,
    )
    sendError(reply.header('request-id', request.id), errorAnswer(thrown, shapeFor(request), request.id))
  }

  const slowBodies = createSlowBodies()
  const app = fastify({
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: defaultBodyLimit,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestTimeout: 60_000,
    // Node checks only every 30 s by default. Security: S50.
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    keepAliveTimeout: 72_000,
    routerOptions: { maxParamLength: 500, ignoreDuplicateSlashes: false },
    genReqId: () => newId('req'),
    clientErrorHandler: createAnswerClientError(slowBodies),
    frameworkErrors: (error, request, reply) => void rejectUnroutable(error, request, reply),
    schemaErrorFormatter: (errors, part) => new AppError('invalid_request', validationMessage(errors, part)),
  })
  closeLingering(app.server)
  writeLogTo(app, log)
  app.setValidatorCompiler(createValidatorCompiler())
  app.setSerializerCompiler(createSerializerCompiler())
  app.decorateRequest('caller')
  app.decorate('addressOf', addressOf)
  app.decorate('slowBodies', slowBodies)
  app.removeAllContentTypeParsers()
  const jsonTypes = ['application/json', 'application/a2a+json']
  app.addContentTypeParser(jsonTypes, { parseAs: 'string' }, async (_request: FastifyRequest, text: string) =>
    parseJsonBody(text),
  )

  // With a callback, because a promise per request costs more than the rest of the hook.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('request-id', request.id)
    const { route } = request.routeOptions.config
    // These routes authenticate their callers themselves.
    if (!route || route.access === 'webhook' || route.access === 'key-unless-public') return done()
    const caller = route.access === 'public' ? masterCaller : authenticate(request.raw, route.access)
    if (caller instanceof Promise) {
      caller.then(found => admit(request, route, found)).then(() => done(), done)
      return
    }
    admit(request, route, caller)
    done()
  })

  if (requestLog?.isOn) logRequests(app, requestLog)

  app.setNotFoundHandler(async (request, reply) => {
    await requireKey(request)
    const allowed = allowedMethods(pathOf(request.url))
    if (allowed.length === 0) throw noSuchPath(request.url)
    if (wantsWebSocket(request)) throw noWebSocket(allowed, request)
    reply.header('allow', allowed.join(', '))
    throw new AppError(
      'method_not_allowed',
      `method ${request.method} is not allowed here; use ${allowed.join(' or ')}`,
    )
  })

  app.setErrorHandler(async (thrown: FastifyError, request, reply) => {
    const answer = errorAnswer(thrown, shapeFor(request), request.id)
    if (answer.isOurs) log.error({ err: thrown, request_id: request.id, url: pathOf(request.url) }, 'request failed')
    return sendError(reply, answer)
  })
  return app
}

const wantsWebSocket = ({ headers }: FastifyRequest): boolean => headers.upgrade?.toLowerCase() === 'websocket'

/** Clients that try WebSocket first, such as Codex, fall back to HTTP at once on this status. */
const noWebSocket = (allowed: readonly string[], { url }: FastifyRequest): AppError =>
  new AppError(
    'upgrade_required',
    `WebSocket is not supported here; use ${allowed.join(' or ')} ${pathOf(url).slice(0, 200)} over HTTP`,
    { headers: { upgrade: 'HTTP/1.1', connection: 'close, upgrade' } },
  )

/**
 * Sends Fastify's messages to our log. With the logger option it would create a child logger and two listeners per
 * request for log lines that are disabled here.
 */
function writeLogTo(app: FastifyInstance, log: Log): void {
  const { error, warn, fatal } = log
  Object.assign(app.log, { error: error.bind(log), warn: warn.bind(log), fatal: fatal.bind(log) })
}

/** Logs every request, including streams, which end with the same hook. */
function logRequests(app: FastifyInstance, requestLog: RequestLog): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { id, method, url, caller, raw } = request
    const address = app.addressOf(raw)
    requestLog.write({
      request_id: id,
      method,
      path: pathOf(url),
      status: reply.raw.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(address !== undefined && { address }),
      ...(caller && !isMaster(caller) && { caller: caller.key?.id ?? caller.principal }),
    })
    done()
  })
}

function sendError(reply: FastifyReply, { status, headers, body }: ReturnType<typeof errorAnswer>): FastifyReply {
  // Fastify closes the connection after a body that is too large. A client that is still sending would then see a reset
  // connection instead of the response. Kept open, the rest is read and dropped within the request timeout.
  if (status === 413) reply.removeHeader('connection')
  return reply
    .code(status)
    .headers(headers)
    .serializer(JSON.stringify)
    .type('application/json; charset=utf-8')
    .send(body)
}

/** Returns the error shape of a request. */
function shapeFor(request: FastifyRequest): BodyShape {
  const shape = request.routeOptions.config.route?.errorShape ?? shapeOfPath(request)
  return shape === 'by-header' ? vendorOf(request.headers) : shape
}

const isMaster = ({ principal, key }: Caller): boolean => !key && principal === masterCaller.principal

/** Sets the caller of a request. Throws if the route does not allow the caller, or cannot accept the request. */
function admit(request: FastifyRequest, route: Route, caller: Caller): void {
  request.caller = tracedCaller(caller, request.headers)
  if (route.access === 'admin' && caller.role !== 'admin')
    throw new AppError('forbidden', 'this operation needs the master key or a key of role admin')
  if (caller.role === 'viewer' && !(route.isRead ?? route.method === 'GET'))
    throw new AppError('forbidden', 'a viewer may only read; use a key of role user or admin')
  if (caller.behalf && !route.isForPrograms) throw notForPrograms()
  if (hasEmptyParameter(request.params as Readonly<Record<string, string>>)) throw noSuchPath(request.url)
  // Ids and filters never contain NUL, and the database rejects it.
  if (request.url.includes('%00')) throw invalid('request path contains a NUL character')
  if (route.body) requireType(request, route)
}

/** True for a path that ends or continues where an id must be, which the router takes for an id without characters. */
function hasEmptyParameter(params: Readonly<Record<string, string>>): boolean {
  for (const name in params) if (params[name] === '' && name !== '*') return true
  return false
}

/** Throws for a body in another format before it is read. Requests without a body need no content type. */
function requireType({ headers }: FastifyRequest, { consumes }: Route): void {
  const type = headers['content-type']
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  rejectEncoded(headers)
  if (consumes && mediaTypeIn(type) === consumes) return
  if (hasBody && !isJsonType(type ?? '')) {
    throw new AppError('unsupported_media_type', `content type must be ${consumes ?? 'application/json'}`)
  }
}

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { messageRoutes } from '../../contract/messages.ts'
import { type NativeProvider, nativeProviders, nativeRoutes } from '../../contract/native.ts'
import type { Route } from '../../contract/route.ts'
import { rejectEncoded } from '../http/json-body.ts'
import { bodyTooLarge, receivedBody } from '../http/receive-body.ts'
import { noSuchPath, pathOf } from '../http/unknown-path.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { BedrockKind, Call } from './core/call.ts'
import { readRequest } from './core/request.ts'
import { createArraySink, geminiCallOf } from './formats/gemini/routes.ts'
import type { Gateway } from './gateway.ts'
import { isOfResponses, openAiCalls, withModel } from './openai-routes.ts'
import { kindOfProvider, type Native, type NativeRequest } from './passthrough/native.ts'
import { type CallSpec, createAnswer, type Received } from './serve-calls.ts'
import { staysBelow } from './upstream/paths.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call' | 'mayUse' | 'served'>
  /** Serves calls that can continue from stored responses. */
  readonly responses: Pick<Gateway, 'call'>
  readonly native: Native
}

/** A model call in a path of a provider's API. */
type ModelCall = Pick<CallSpec, 'kind' | 'address' | 'through'> & {
  readonly route: Pick<Route, 'bodyLimit' | 'consumes'>
}

const answered: Buffer = Buffer.alloc(0)
const callLimit = 32 * 1024 * 1024

/** Serves the providers' own APIs. Model calls go through the gateway; other requests are relayed. */
export function serveNative(app: FastifyInstance, deps: Deps): void {
  for (const provider of nativeProviders) {
    for (const route of Object.values(nativeRoutes).filter(({ path }) => path === `/${provider}/{path}`)) {
      app.route({
        method: route.method,
        url: `/${provider}/*`,
        config: { route },
        onRequest(request, reply, fail) {
          answer({ provider, route }, request, reply, deps).catch(fail)
        },
        handler: () => {
          throw new AppError('internal', 'a hook of this route answers before its handler (bug)')
        },
      })
    }
  }
}

interface Place {
  readonly provider: NativeProvider
  readonly route: Route
}

async function answer({ provider, route }: Place, request: FastifyRequest, reply: FastifyReply, deps: Deps) {
  const path = pathOf(request.url).slice(`/${provider}`.length)
  if (!staysBelow(path, provider === 'bedrock'))
    throw invalid('path must not contain an empty segment, a dot segment, a backslash or an encoded slash')
  const plain = decodeURIComponent(path).replace(/\/$/, '')
  // Azure's paths of model calls, which other routes serve.
  if (provider === 'openai' && plain === '/deployments') throw noSuchPath(request.url)
  if (provider === 'openai' && plain.startsWith('/deployments/')) return void reply.callNotFound()
  const modelCall = route.method === 'POST' ? modelCallOf(provider, plain, request) : undefined
  if (modelCall) return answerCall(modelCall, { provider, route }, request, reply, deps)
  // Stored responses belong to their callers, whom the provider cannot distinguish: only the gateway's own routes serve
  // them.
  if (provider === 'openai' && /^(\/v1)?\/responses\//i.test(plain)) return void reply.callNotFound()
  const nativeRequest: Omit<NativeRequest, 'body'> = { provider, method: route.method, path }
  const place = deps.native.admit(request.caller, nativeRequest)
  const body = await bodyOf(request.raw, route.bodyLimit ?? 0, place.deployment.aws !== undefined)
  const relay = {
    call: (call: Call, sink: Parameters<Gateway['call']>[1]) =>
      deps.native.relay(place, { ...nativeRequest, body }, call, sink),
  }
  await createAnswer(relay, route)({ request, body: answered }, reply, { kind: kindOfProvider(provider) })
}

const bedrockCalls: Readonly<Record<string, { readonly kind: BedrockKind; readonly stream: boolean }>> = {
  converse: { kind: 'converse', stream: false },
  'converse-stream': { kind: 'converse', stream: true },
  invoke: { kind: 'invoke', stream: false },
  'invoke-with-response-stream': { kind: 'invoke', stream: true },
}

/** Returns the model call that a path stands for; undefined for any other request. */
function modelCallOf(provider: NativeProvider, path: string, { query }: FastifyRequest): ModelCall | undefined {
  switch (provider) {
    case 'anthropic': {
      const route = Object.values(messageRoutes).find(candidate => candidate.path === path)
      return route && { route, kind: route === messageRoutes.create ? 'messages' : 'count_tokens' }
    }
    case 'openai':
      return openAiCalls.find(({ route }) => route.path === path || route.path === `/v1${path}`)
    case 'gemini': {
      const found = geminiCallOf(path)
      if (!found) return undefined
      const { model, method } = found
      const isArray = method.stream && (query as { alt?: unknown }).alt !== 'sse'
      return {
        route: {},
        kind: method.kind,
        address: { model, stream: method.stream },
        ...(isArray && { through: createArraySink }),
      }
    }
    case 'bedrock': {
      const [, model, operation = ''] = /^\/model\/(.+)\/([a-z-]+)$/.exec(path) ?? []
      const found = bedrockCalls[operation]
      return found && model !== undefined
        ? { route: {}, kind: found.kind, address: { model, stream: found.stream } }
        : undefined
    }
  }
}

async function answerCall(found: ModelCall, place: Place, request: FastifyRequest, reply: FastifyReply, deps: Deps) {
  const { route, ...spec } = found
  rejectEncoded(request.headers)
  const body = await receivedBody(request.raw, route.bodyLimit ?? callLimit)
  const named = atProvider({ request, body }, found, place.provider, deps.gateway)
  const answerIt = createAnswer(isOfResponses(spec.kind) ? deps.responses : deps.gateway, place.route)
  await answerIt({ request, body: named.body }, reply, { ...spec, ...(named.address && { address: named.address }) })
}

/**
 * Returns the call with the full name of its model: in these paths, a model has the provider's own name. A call of a
 * name that the key may not use is returned unchanged, and rejected as on other paths, whether the model exists or not.
 */
function atProvider(
  { request, body }: Received,
  { kind, address, route }: ModelCall,
  provider: NativeProvider,
  gateway: Pick<Gateway, 'mayUse' | 'served'>,
): Pick<Call, 'body' | 'address'> {
  const { model } = readRequest({ kind, body, headers: request.headers, ...(address && { address }) })
  const usable = [model, `${provider}/${model}`].filter(name => gateway.mayUse(name, request.caller.key))
  if (usable.length === 0) return { body, ...(address && { address }) }
  const isServed = (name: string) => {
    const served = gateway.served(kind, name)
    return served.length > 0 && served.every(({ deployment }) => deployment.provider === provider)
  }
  const name = usable.find(isServed)
  if (name === undefined)
    throw new AppError(
      'not_found',
      `model ${model.slice(0, 200)} is not configured for provider ${provider}; GET /v1/models lists the models`,
    )
  if (address) return { body, address: { ...address, model: name } }
  if (route.consumes) return { body, address: { model: name, stream: false } }
  return name === model ? { body } : { body: withModel(body, name) }
}

/** Returns the body as a stream, or as a whole where the request must be signed; null for an empty body. */
async function bodyOf(request: IncomingMessage, limit: number, isSigned: boolean): Promise<NativeRequest['body']> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && Number(length ?? 0) === 0) return null
  if (isSigned) return receivedBody(request, callLimit)
  if (Number(length ?? 0) > limit) throw bodyTooLarge(limit)
  return bounded(request, limit)
}

/** Yields the chunks of a body up to `limit` bytes. Keeps the client's connection open, which an early answer needs. */
async function* bounded(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw bodyTooLarge(limit)
    yield chunk
  }
}

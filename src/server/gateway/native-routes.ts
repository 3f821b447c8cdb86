import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { messageRoutes } from '../../contract/messages.ts'
import { type NativeProvider, nativeProviders, nativeRoutes } from '../../contract/native.ts'
import type { Route } from '../../contract/route.ts'
import { refuseEncoded } from '../http/json-body.ts'
import { noSuchPath, pathOf } from '../http/unknown-path.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { BedrockKind, Call } from './core/call.ts'
import { readRequest } from './core/request.ts'
import { createArraySink, geminiCallOf } from './formats/gemini/routes.ts'
import type { Gateway } from './gateway.ts'
import { isOfResponses, openAiCalls, withModel } from './openai-routes.ts'
import { kindOfProvider, type Native, type NativeRequest } from './passthrough/native.ts'
import { receiveBody } from './receive-body.ts'
import { type Asked, createAnswer, type Received } from './serve-calls.ts'
import { staysBelow } from './upstream/paths.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call' | 'mayUse' | 'served'>
  /** Calls that can go on from stored responses. */
  readonly responses: Pick<Gateway, 'call'>
  readonly native: Native
}

/** A path of a provider's API that is a call of a model. */
type ModelCall = Pick<Asked, 'kind' | 'address' | 'through'> & { readonly route: Pick<Route, 'bodyLimit' | 'consumes'> }

const answered: Buffer = Buffer.alloc(0)
const callLimit = 32 * 1024 * 1024

/** Providers' own APIs: calls of models go the way of all calls, all else is relayed for keys that may. */
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
          throw new AppError('internal', 'this route is answered before its handler')
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
    throw invalid('the path must hold no empty segment, no dots alone, no backslash and no encoded slash')
  const plain = decodeURIComponent(path).replace(/\/$/, '')
  // Azure's form of our own routes, which are the only ones there.
  if (provider === 'openai' && plain === '/deployments') throw noSuchPath(request.url)
  if (provider === 'openai' && plain.startsWith('/deployments/')) return void reply.callNotFound()
  const modelCall = route.method === 'POST' ? modelCallOf(provider, plain, request) : undefined
  if (modelCall) return answerCall(modelCall, { provider, route }, request, reply, deps)
  // Stored responses belong to their callers, whom the provider cannot tell apart: only routes of our own lead to them.
  if (provider === 'openai' && /^(\/v1)?\/responses\//i.test(plain)) return void reply.callNotFound()
  const asked: Omit<NativeRequest, 'body'> = { provider, method: route.method, path }
  const place = deps.native.admit(request.caller, asked)
  const body = await bodyOf(request.raw, route.bodyLimit ?? 0, place.deployment.aws !== undefined)
  const relay = {
    call: (call: Call, sink: Parameters<Gateway['call']>[1]) =>
      deps.native.relay(place, { ...asked, body }, call, sink),
  }
  await createAnswer(relay, route)({ request, body: answered }, reply, { kind: kindOfProvider(provider) })
}

const bedrockCalls: Readonly<Record<string, { readonly kind: BedrockKind; readonly stream: boolean }>> = {
  converse: { kind: 'converse', stream: false },
  'converse-stream': { kind: 'converse', stream: true },
  invoke: { kind: 'invoke', stream: false },
  'invoke-with-response-stream': { kind: 'invoke', stream: true },
}

/** The call of a model that a path is. */
function modelCallOf(provider: NativeProvider, path: string, { query }: FastifyRequest): ModelCall | undefined {
  switch (provider) {
    case 'anthropic': {
      const route = Object.values(messageRoutes).find(known => known.path === path)
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
  const { route, ...asked } = found
  refuseEncoded(request.headers)
  const body = await wholeBody(request.raw, route.bodyLimit ?? callLimit)
  const named = atProvider({ request, body }, found, place.provider, deps.gateway)
  const answerIt = createAnswer(isOfResponses(asked.kind) ? deps.responses : deps.gateway, place.route)
  await answerIt({ request, body: named.body }, reply, { ...asked, ...(named.address && { address: named.address }) })
}

/**
 * The call with a model of the provider: below its path, names are those that the provider gives its models. A call of a name
 * that the key may not use stays as it is, and is refused as on every other path, whether anything has that name or not.
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

/** The body as it comes, or as a whole where a signature covers it; null without any. */
async function bodyOf(request: IncomingMessage, limit: number, isSigned: boolean): Promise<NativeRequest['body']> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && Number(length ?? 0) === 0) return null
  if (isSigned) return wholeBody(request, callLimit)
  if (Number(length ?? 0) > limit) throw tooLarge()
  return bounded(request, limit)
}

/** Ends without closing the client's connection, which an early answer still needs. */
async function* bounded(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw tooLarge()
    yield chunk
  }
}

const wholeBody = (request: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    receiveBody(request, limit, (error, body) => (error ? reject(error) : resolve(body)))
  })

const tooLarge = (): AppError => new AppError('payload_too_large', 'the body is larger than this route allows')

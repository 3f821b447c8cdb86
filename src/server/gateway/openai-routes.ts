import type { FastifyInstance } from 'fastify'
import { openAiRoutes } from '../../contract/openai.ts'
import { endpointRoutes } from '../../contract/openai-endpoints.ts'
import { bodyTooLarge } from '../http/receive-body.ts'
import { editTopLevel } from './bytes/body-edit.ts'
import { keysOf, ownMembers } from './bytes/json-members.ts'
import type { CallKind } from './core/call.ts'
import type { Gateway } from './gateway.ts'
import { type CallRoute, createAnswer, serveBytes, serveCalls } from './serve-calls.ts'

interface Deps {
  readonly gateway: Gateway
  /** Serves calls that can continue from stored responses; absent where responses are not stored. */
  readonly responses?: Pick<Gateway, 'call'>
}

/** Model calls in OpenAI's formats. Paths have the version. */
export const openAiCalls: readonly CallRoute[] = [
  { route: openAiRoutes.chat, kind: 'chat' },
  { route: openAiRoutes.responses, kind: 'responses' },
  { route: openAiRoutes.countResponse, kind: 'responses_count' },
  { route: openAiRoutes.compactResponse, kind: 'responses_compact' },
  { route: openAiRoutes.embeddings, kind: 'embeddings' },
  { route: endpointRoutes.completions, kind: 'completions' },
  { route: endpointRoutes.moderations, kind: 'moderations' },
  { route: endpointRoutes.rerank, kind: 'rerank' },
  { route: endpointRoutes.images, kind: 'images' },
  { route: endpointRoutes.imageEdits, kind: 'image_edits' },
  { route: endpointRoutes.imageVariations, kind: 'image_variations' },
  { route: endpointRoutes.speech, kind: 'speech' },
  { route: endpointRoutes.transcriptions, kind: 'transcriptions' },
  { route: endpointRoutes.translations, kind: 'translations' },
]

/** Serves model calls in OpenAI's formats. */
export function serveOpenAi(app: FastifyInstance, { gateway, responses = gateway }: Deps): void {
  const gatewayOf = (kind: CallKind) => (isOfResponses(kind) ? responses : gateway)
  for (const call of openAiCalls) serveCalls(app, gatewayOf(call.kind), [call])
  serveAzure(app, gatewayOf, openAiCalls)
}

/** True for calls that can continue from stored responses. */
export const isOfResponses = (kind: CallKind): boolean => kind.startsWith('responses')

type GatewayOf = (kind: CallKind) => Pick<Gateway, 'call'>

const prefix = '/openai/deployments/'
const modelKey = keysOf(['model'])

/**
 * Serves the paths of Azure's clients, which contain the model: `/openai/deployments/{model}/chat/completions`. One
 * binding for all of them, since ids contain slashes, which clients send both plain and encoded.
 */
function serveAzure(app: FastifyInstance, gatewayOf: GatewayOf, routes: readonly CallRoute[]): void {
  const methods = routes.flatMap(({ route, kind }) =>
    (route.aliases ?? [])
      .filter(path => path.startsWith(prefix))
      .map(path => ({
        end: path.slice(`${prefix}{model}`.length),
        kind,
        route,
        answer: createAnswer(gatewayOf(kind), route),
      })),
  )
  // Some endpoints accept forms.
  const route = { ...openAiRoutes.chat, consumes: 'multipart/form-data' } as const
  serveBytes(app, { route, url: `${prefix}*` }, async (received, reply) => {
    const path = (received.request.params as { '*': string })['*']
    const method = methods.find(({ end }) => path.endsWith(end) && path.length > end.length)
    if (!method) return void reply.callNotFound()
    const model = path.slice(0, -method.end.length)
    const { kind, route } = method
    const limit = route.bodyLimit ?? 0
    if (received.body.length > limit) throw bodyTooLarge(limit)
    if (route.consumes) return method.answer(received, reply, { kind, address: { model, stream: false } })
    return method.answer({ ...received, body: withModel(received.body, model) }, reply, { kind })
  })
}

/**
 * Returns the body with its model replaced, for example by that of Azure's path, which takes precedence. A body that is
 * not JSON is returned unchanged, and rejected later.
 */
export function withModel(body: Buffer, model: string): Buffer {
  const members = ownMembers(body, modelKey)
  if (!members || members.duplicates.length > 0) return body
  const [span] = members.values
  if (span && body.toString('utf8', span.start, span.end) === JSON.stringify(model)) return body
  return editTopLevel(body, { set: { model } }).body
}

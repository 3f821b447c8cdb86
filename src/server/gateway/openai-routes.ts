import type { FastifyInstance } from 'fastify'
import { openAiRoutes } from '../../contract/openai.ts'
import { editTopLevel } from './bytes/body-edit.ts'
import { keysOf, ownMembers } from './bytes/own-members.ts'
import type { Gateway } from './gateway.ts'
import { type CallRoute, createAnswer, serveBytes, serveCalls } from './serve-calls.ts'

interface Deps {
  readonly gateway: Gateway
}

const calls: readonly CallRoute[] = [
  { route: openAiRoutes.chat, kind: 'chat' },
  { route: openAiRoutes.responses, kind: 'responses' },
  { route: openAiRoutes.embeddings, kind: 'embeddings' },
]

/** Model calls in OpenAI's formats. */
export function serveOpenAi(app: FastifyInstance, { gateway }: Deps): void {
  serveCalls(app, gateway, calls)
  serveAzure(app, gateway, calls)
}

const prefix = '/openai/deployments/'
const modelKey = keysOf(['model'])

/**
 * Serves the paths of Azure's clients, which name the model instead of the body: `/openai/deployments/{model}/chat/completions`.
 * One binding for all of them: ids hold slashes, which clients send plain as well as encoded.
 */
function serveAzure(app: FastifyInstance, gateway: Gateway, routes: readonly CallRoute[]): void {
  const methods = routes.flatMap(({ route, kind }) =>
    (route.aliases ?? [])
      .filter(path => path.startsWith(prefix))
      .map(path => ({ end: path.slice(`${prefix}{model}`.length), kind, answer: createAnswer(gateway, route) })),
  )
  serveBytes(app, { route: openAiRoutes.chat, url: `${prefix}*` }, async (received, reply) => {
    const path = (received.request.params as { '*': string })['*']
    const method = methods.find(({ end }) => path.endsWith(end) && path.length > end.length)
    if (!method) return void reply.callNotFound()
    const body = withModel(received.body, path.slice(0, -method.end.length))
    return method.answer({ ...received, body }, reply, { kind: method.kind })
  })
}

/** The body with the model of the path, as at Azure, where the name in the body has no effect. What is not JSON is refused later. */
function withModel(body: Buffer, model: string): Buffer {
  const members = ownMembers(body, modelKey)
  if (!members || members.doubled.length > 0) return body
  const [span] = members.values
  if (span && body.toString('utf8', span.start, span.end) === JSON.stringify(model)) return body
  return editTopLevel(body, { set: { model } }).body
}

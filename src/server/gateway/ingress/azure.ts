import type { FastifyInstance } from 'fastify'
import { openAiRoutes } from '../../../contract/openai.ts'
import type { Gateway } from '../gateway.ts'
import { keysOf, ownMembers } from '../own-members.ts'
import { editTopLevel } from '../raw/body-edit.ts'
import { type CallRoute, createAnswer, serveBytes } from '../serve-calls.ts'

const prefix = '/openai/deployments/'
const modelKey = keysOf(['model'])

/**
 * Serves the paths of Azure's clients, which name the model instead of the body: `/openai/deployments/{model}/chat/completions`.
 * One binding for all of them: ids hold slashes, which clients send plain as well as encoded.
 */
export function serveAzure(app: FastifyInstance, gateway: Gateway, routes: readonly CallRoute[]): void {
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

import type { FastifyInstance } from 'fastify'
import { openAiRoutes } from '../../../contract/openai.ts'
import type { Gateway } from '../gateway.ts'
import { type CallRoute, serveCalls } from '../serve-calls.ts'
import { serveAzure } from './azure.ts'

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

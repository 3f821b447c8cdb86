import type { FastifyInstance } from 'fastify'
import { openAiRoutes } from '../../../contract/openai.ts'
import type { Gateway } from '../gateway.ts'
import { serveCalls } from '../serve-calls.ts'

interface Deps {
  readonly gateway: Gateway
}

/** Model calls in OpenAI's formats. */
export function serveOpenAi(app: FastifyInstance, { gateway }: Deps): void {
  serveCalls(app, gateway, [
    { route: openAiRoutes.chat, kind: 'chat' },
    { route: openAiRoutes.responses, kind: 'responses' },
    { route: openAiRoutes.embeddings, kind: 'embeddings' },
  ])
}

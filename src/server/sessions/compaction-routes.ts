import type { FastifyInstance } from 'fastify'
import { opencodeRoutes } from '../../contract/opencode.ts'
import type { PromptRequest } from '../../contract/prompts.ts'
import { sessionRoutes } from '../../contract/sessions.ts'
import { bind } from '../http/bind.ts'
import type { CompactionRequests } from './compaction-request.ts'
import type { Sessions } from './sessions.ts'

interface Deps {
  readonly compactions: CompactionRequests
  readonly sessions: Pick<Sessions, 'open'>
  /** Combines the provider and model of opencode into one name. */
  readonly modelName: (
    model: NonNullable<PromptRequest['model']>,
    runtimeOf: () => Promise<string | undefined>,
  ) => Promise<string>
}

/** Serves both compaction routes: ours queues the compaction, the one of opencode also waits for it. */
export function serveCompaction(app: FastifyInstance, { compactions, sessions, modelName }: Deps): void {
  bind(app, sessionRoutes.compact, async ({ params }, caller, { idempotency }) => ({
    prompt_id: await compactions.enqueue(params.session_id, { caller, idempotency }),
  }))
  bind(app, opencodeRoutes.summarize, async ({ params, body }, caller, { idempotency, signal }) => {
    const { session_id: id } = params
    const { modelID, providerID } = body ?? {}
    const { runtime } = await sessions.open(id, caller)
    const named = modelID === undefined ? undefined : { modelID, ...(providerID !== undefined && { providerID }) }
    const model = named && (await modelName(named, async () => runtime))
    await compactions.done(id, { caller, idempotency, model, signal })
    return true
  })
}

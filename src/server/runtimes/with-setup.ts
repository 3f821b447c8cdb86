import { isRecord } from '../platform/json.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { messageOf, usesWorkspace } from './before-run.ts'
import { type Batch, failed, type RunContext, type RunPrompt, type RunSession, type Runtime } from './runtime.ts'

/**
 * Returns the runtime with `config.sandbox`: before a run it makes the image and the set-up of the agent available. A
 * run whose set-up fails ends with an error event, because its tools would lack what the agent relies on.
 */
export function withSetup<R extends Runtime>(runtime: R, sandboxes: Pick<Sandboxes, 'prepare'>): R {
  return {
    ...runtime,
    async *run(session: RunSession, prompt: RunPrompt, context: RunContext): AsyncGenerator<Batch> {
      const { signal } = context
      if (usesWorkspace(session, prompt, context) && isRecord(session.config['sandbox'])) {
        const problem = await sandboxes.prepare(session, signal).then(() => undefined, messageOf)
        if (signal.aborted) return
        if (problem !== undefined) return yield [failed('invalid_request_error', problem)]
      }
      yield* runtime.run(session, prompt, context)
    },
  }
}

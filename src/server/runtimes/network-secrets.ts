import type { SessionSecrets } from '../egress/session-secrets.ts'
import { isLongEnough, wholeEchoes } from '../platform/echoes.ts'
import type { Batch, RunContext, RunPrompt, RunSession, Runtime, RuntimeKind } from './runtime.ts'
import { createRedactor } from './without-secrets.ts'

/**
 * Returns what removes the values of `config.network.secrets` from the events and previews of runtimes, because the
 * host that gets a secret may return it to the sandbox.
 */
export function createNetworkRedaction({ valuesFor }: Pick<SessionSecrets, 'valuesFor'>) {
  const redacted = <R extends Runtime>(runtime: R): R => ({
    ...runtime,
    async *run(session: RunSession, prompt: RunPrompt, context: RunContext): AsyncGenerator<Batch> {
      const values = (await valuesFor(session)).filter(isLongEnough)
      if (values.length === 0) return yield* runtime.run(session, prompt, context)
      const redactor = createRedactor(wholeEchoes(values), context)
      for await (const batch of runtime.run(session, prompt, redactor.context)) yield redactor.batch(batch)
    },
  })
  return {
    runtime: redacted,
    kind: (kind: RuntimeKind): RuntimeKind => ({ ...kind, connect: endpoint => redacted(kind.connect(endpoint)) }),
  }
}

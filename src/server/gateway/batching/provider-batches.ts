import type { Outbound } from '../../platform/outbound.ts'
import type { Authorize } from '../upstream/authorize.ts'
import { createAnthropicBatches } from './anthropic-batches.ts'
import type { BatchApi, BatchProvider } from './batch-api.ts'
import { createBatchConnection } from './connection.ts'
import { createOpenAiBatches } from './openai-batches.ts'

/** The batch APIs of providers. */
export function createProviderBatches(deps: {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
}): BatchApi {
  const connection = createBatchConnection(deps)
  const anthropic = createAnthropicBatches(connection)
  const openAi = createOpenAiBatches(connection)
  const of = ({ protocol }: BatchProvider): BatchApi => (protocol === 'anthropic-messages' ? anthropic : openAi)
  return {
    submit: (provider, submission) => of(provider).submit(provider, submission),
    state: (provider, id) => of(provider).state(provider, id),
    cancel: (provider, id) => of(provider).cancel(provider, id),
    results: (provider, id) => of(provider).results(provider, id),
    find: (provider, interrupted) => of(provider).find(provider, interrupted),
  }
}

import { opencodeProvider } from '../../contract/opencode-route.ts'
import type { PromptRequest } from '../../contract/prompts.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Runtime } from '../runtimes/runtime.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'find'>
  readonly runtimes: { find(name: string): Promise<Pick<Runtime, 'namesProviders'> | undefined> }
}

/** Returns the name of a prompt's model. Calls `runtimeOf` for the session's runtime only where it matters. */
export type ModelName = (
  model: NonNullable<PromptRequest['model']>,
  runtimeOf: () => Promise<string | undefined>,
) => Promise<string>

/**
 * Combines a provider and a model into one name: with the provider when the gateway has such a model or the session's
 * runtime uses providers, else without. Source: Dialects, section 2.1.
 */
export function createModelName({ gateway, runtimes }: Deps): ModelName {
  return async ({ providerID, modelID }, runtimeOf) => {
    if (!providerID) return modelID
    const full = `${providerID}/${modelID}`
    if (gateway.find(full)) return full
    // Clients see all our models under this provider, regardless of the session's runtime.
    if (providerID === opencodeProvider) return modelID
    const runtime = await runtimeOf()
    return runtime !== undefined && (await runtimes.find(runtime))?.namesProviders ? full : modelID
  }
}

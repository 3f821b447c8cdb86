import { opencodeProvider } from '../../contract/opencode.ts'
import type { PromptRequest } from '../../contract/prompts.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Runtime } from '../runtimes/runtime.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'find'>
  readonly runtimes: { find(name: string): Promise<Pick<Runtime, 'namesProviders'> | undefined> }
}

/** The name of a prompt's model. `runtimeOf` tells what the session runs on; it is asked where that makes a difference. */
export type ModelName = (
  model: NonNullable<PromptRequest['model']>,
  runtimeOf: () => Promise<string | undefined>,
) => Promise<string>

/**
 * Turns a provider and a model into one name: with the provider where the gateway, or the session's runtime, knows such
 * names, else without. Dialects: section 2.1.
 */
export function createModelName({ gateway, runtimes }: Deps): ModelName {
  return async ({ providerID, modelID }, runtimeOf) => {
    if (!providerID) return modelID
    const full = `${providerID}/${modelID}`
    if (gateway.find(full)) return full
    // Clients are shown all our models under it, whatever a session runs on.
    if (providerID === opencodeProvider) return modelID
    const runtime = await runtimeOf()
    return runtime !== undefined && (await runtimes.find(runtime))?.namesProviders ? full : modelID
  }
}

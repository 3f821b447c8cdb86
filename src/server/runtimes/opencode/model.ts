import { opencodeProvider } from '../../../contract/opencode-route.ts'
import { isModelNamed, unknownModel } from '../model-choice.ts'
import { type RunContext, type RunPrompt, RuntimeFailure } from '../runtime.ts'
import type { OpencodeApi, PromptBody } from './api.ts'

interface ModelRequest {
  readonly api: Pick<OpencodeApi, 'models'>
  readonly prompt: Pick<RunPrompt, 'model'>
  /** Provider of all models on a server that we start; undefined for a remote server. */
  readonly provider: string | undefined
  readonly context: Pick<RunContext, 'signal'>
}

/**
 * Returns the server's name of the prompt's model; undefined lets the server choose. A name without a provider is
 * looked up in the server's list, since a server that gets no provider runs a model of its own choice. Rejects with
 * `RuntimeFailure` for a name that matches no model, or models of several providers.
 */
export async function modelOf({
  api,
  prompt: { model: name },
  provider,
  context,
}: ModelRequest): Promise<PromptBody['model']> {
  if (provider !== undefined) return { providerID: provider, modelID: name }
  if (!isModelNamed(name)) return undefined
  const named = splitModel(name)
  // The server does not have our own provider.
  if (named && named.providerID !== opencodeProvider) return named
  const ids = (await api.models(context.signal)).map(({ id }) => id)
  const wanted = named?.modelID ?? name
  const matching = ids.filter(id => id === name || splitModel(id)?.modelID === wanted)
  const [only] = matching.includes(name) ? [name] : matching
  if (only === undefined) throw rejection(unknownModel(name, ids))
  if (matching.length > 1 && !matching.includes(name)) {
    throw rejection(`model ${JSON.stringify(name)} is ambiguous; use one of ${matching.join(', ')}`)
  }
  return splitModel(only)
}

// Status 400 is not retried.
const rejection = (message: string) => new RuntimeFailure('model_request_failed_error', message, { status: 400 })

/** Splits `provider/model`; the model's name may contain slashes. */
function splitModel(name: string): PromptBody['model'] {
  const slash = name.indexOf('/')
  if (slash < 1 || slash === name.length - 1) return undefined
  return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) }
}

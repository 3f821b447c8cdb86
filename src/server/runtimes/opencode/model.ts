import { opencodeProvider } from '../../../contract/opencode.ts'
import { isModelNamed, unknownModel } from '../model-choice.ts'
import { type RunContext, type RunPrompt, RuntimeFailure } from '../runtime.ts'
import type { OpencodeApi, PromptBody } from './api.ts'

interface Asked {
  readonly api: Pick<OpencodeApi, 'models'>
  readonly prompt: Pick<RunPrompt, 'model'>
  /** Under which a server of ours knows all models; undefined for a server of somebody else. */
  readonly provider: string | undefined
  readonly context: Pick<RunContext, 'signal'>
}

/**
 * The model of the prompt, as the server names it; undefined leaves the choice to the server. A name without a provider
 * is looked up in the server's list, since a server that gets no provider would run with a model of its own choice.
 * Rejects with `RuntimeFailure` for a name that fits none of its models, or those of several providers.
 */
export async function modelOf({
  api,
  prompt: { model: name },
  provider,
  context,
}: Asked): Promise<PromptBody['model']> {
  if (provider !== undefined) return { providerID: provider, modelID: name }
  if (!isModelNamed(name)) return undefined
  const named = splitModel(name)
  // Our own provider is not one of that server.
  if (named && named.providerID !== opencodeProvider) return named
  const ids = (await api.models(context.signal)).map(({ id }) => id)
  const wanted = named?.modelID ?? name
  const fitting = ids.filter(id => id === name || splitModel(id)?.modelID === wanted)
  const [only] = fitting.includes(name) ? [name] : fitting
  if (only === undefined) throw refusal(unknownModel(name, ids))
  if (fitting.length > 1 && !fitting.includes(name)) {
    throw refusal(`model ${JSON.stringify(name)} is not clear; name one of ${fitting.join(', ')}`)
  }
  return splitModel(only)
}

// A status that stays what it is: nobody tries again.
const refusal = (message: string) => new RuntimeFailure('model_request_failed_error', message, { status: 400 })

/** `provider/model`; a model's own name may hold slashes too. */
function splitModel(name: string): PromptBody['model'] {
  const slash = name.indexOf('/')
  if (slash < 1 || slash === name.length - 1) return undefined
  return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) }
}

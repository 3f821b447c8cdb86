import type { Model, ModelInfo } from '../../../contract/models.ts'
import { baseModelOf, type DeployedModel } from '../core/call.ts'
import { withoutAccount } from '../upstream/bedrock.ts'

/** LiteLLM's names of providers, where they differ. */
const providerNames: Readonly<Record<string, string>> = { vertex: 'vertex_ai', 'openai-compatible': 'openai' }

interface Abilities {
  readonly reads: boolean | null
  readonly calls: boolean | null
  readonly reasons: boolean | null
}

const all: Abilities = { reads: true, calls: true, reasons: true }
const allButReasoning: Abilities = { ...all, reasons: false }
const unknown: Abilities = { reads: null, calls: null, reasons: null }

/** Capabilities of models by name. Source: the providers' own pages. */
const abilities: readonly (readonly [names: RegExp, Abilities])[] = [
  [/claude-(3-7|4|(opus|sonnet|haiku|fable)-[4-9])/, all],
  [/claude-3/, allButReasoning],
  [/gpt-[56](?!.*(chat|image|audio))/, all],
  [/gpt-4(o|-1)(?!.*(audio|realtime|transcribe|tts|search))/, allButReasoning],
  [/gemini-(2-5|3)(?!.*(image|tts|live|audio))/, all],
]

function abilitiesOf(model: string): Abilities {
  const name = model.toLowerCase().replaceAll('.', '-')
  return abilities.find(([names]) => names.test(name))?.[1] ?? unknown
}

/** Which media a model is known to accept; what is unknown counts as not accepted. */
export interface ModelInputs {
  readonly images: boolean
  readonly documents: boolean
}

/** Returns the media that all of `targets` accept; none of them for an unknown model. */
export function commonInputs(targets: readonly DeployedModel[]): ModelInputs {
  const all = targets.map(target => {
    const { vision, pdfInput } = target.deployment.capabilities ?? {}
    const { reads } = abilitiesOf(baseModelOf(target))
    return { images: vision ?? reads ?? false, documents: pdfInput ?? reads ?? false }
  })
  const isKnown = all.length > 0
  return { images: isKnown && all.every(one => one.images), documents: isKnown && all.every(one => one.documents) }
}

/** Converts a rate per million tokens. Rounded, since the division adds digits that the rate does not have. */
const perToken = (rate: number | null | undefined): number | null =>
  rate === null || rate === undefined ? null : Number((rate / 1e6).toPrecision(12))

/** Returns a model in LiteLLM's format. Contains no key and no address. */
export function modelInfo(model: Model, target: DeployedModel): ModelInfo {
  const { deployment } = target
  const baseModel = baseModelOf(target)
  const key = withoutAccount(target.upstreamModel)
  const { id, context_window: input = null, max_output_tokens: output = null, pricing } = model
  const provider = providerNames[deployment.provider] ?? deployment.provider
  const { reads, calls, reasons } = abilitiesOf(baseModel)
  const configured = deployment.capabilities ?? {}
  const functionCalling = configured.functionCalling ?? calls
  return {
    model_name: id,
    litellm_params: { model: `${provider}/${key}` },
    model_info: {
      id: deployment.alias === id ? deployment.id : `${deployment.id}:${id}`,
      key,
      base_model: deployment.baseModel ? baseModel : null,
      db_model: false,
      max_tokens: output ?? input,
      max_input_tokens: input,
      max_output_tokens: output,
      input_cost_per_token: perToken(pricing?.input),
      output_cost_per_token: perToken(pricing?.output),
      cache_read_input_token_cost: perToken(pricing?.cache_read),
      cache_creation_input_token_cost: perToken(pricing?.cache_write_5m),
      cache_creation_input_token_cost_above_1hr: perToken(pricing?.cache_write_1h),
      litellm_provider: provider,
      mode: /embed/i.test(baseModel) ? 'embedding' : 'chat',
      supports_vision: configured.vision ?? reads,
      supports_function_calling: functionCalling,
      supports_tool_choice: functionCalling,
      supports_pdf_input: configured.pdfInput ?? reads,
      supports_reasoning: configured.reasoning ?? reasons,
      supports_prompt_caching: pricing ? pricing.cache_read < pricing.input : null,
    },
  }
}

/** Provider part of a model. */
export interface Target {
  /** `<provider>/<upstream id>`. */
  readonly model: string
  /** Address to use where the entry has none. */
  readonly apiBase?: string
  readonly protocol?: string
  readonly region?: string
  /** Model whose prices and limits apply. */
  readonly baseModel?: string
  /** How the result differs from LiteLLM. */
  readonly remark?: string
}

/** Providers of LiteLLM with the same name and meaning here. */
const same = new Set(['anthropic', 'openai', 'gemini', 'openrouter'])

/** Providers of LiteLLM that serve OpenAI's Chat Completions, with their addresses. */
const compatible: Readonly<Record<string, string | undefined>> = {
  mistral: 'https://api.mistral.ai/v1',
  groq: 'https://api.groq.com/openai/v1',
  deepseek: 'https://api.deepseek.com/v1',
  together_ai: 'https://api.together.xyz/v1',
  xai: 'https://api.x.ai/v1',
  perplexity: 'https://api.perplexity.ai',
  fireworks_ai: 'https://api.fireworks.ai/inference/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  sambanova: 'https://api.sambanova.ai/v1',
  nvidia_nim: 'https://integrate.api.nvidia.com/v1',
  deepinfra: 'https://api.deepinfra.com/v1/openai',
  hosted_vllm: undefined,
  openai_like: undefined,
  lm_studio: undefined,
  llamafile: undefined,
  litellm_proxy: undefined,
}

/** Variables from which LiteLLM reads the key of a provider when the entry has none. */
const keyVariables: Readonly<Record<string, string>> = {
  mistral: 'MISTRAL_API_KEY',
  groq: 'GROQ_API_KEY',
  deepseek: 'DEEPSEEK_API_KEY',
  together_ai: 'TOGETHERAI_API_KEY',
  xai: 'XAI_API_KEY',
  perplexity: 'PERPLEXITYAI_API_KEY',
  fireworks_ai: 'FIREWORKS_AI_API_KEY',
  cerebras: 'CEREBRAS_API_KEY',
  sambanova: 'SAMBANOVA_API_KEY',
  nvidia_nim: 'NVIDIA_NIM_API_KEY',
  deepinfra: 'DEEPINFRA_API_KEY',
  azure: 'AZURE_API_KEY',
}

/** Providers that LiteLLM derives from the name of a model. */
const byName: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|o\d|chatgpt-|text-embedding-|dall-e|whisper|tts-|omni-moderation)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'vertex_ai'],
  [/^(anthropic|amazon|meta|mistral|cohere|ai21)\./, 'bedrock'],
]

/** LiteLLM takes prices and limits from the name, whatever the address. */
const isOpenAiName = (id: string): boolean => byName.some(([pattern, name]) => name === 'openai' && pattern.test(id))

/** Returns provider and id of a model of LiteLLM; undefined if its provider is not known. */
function splitModel(model: string, custom: string | undefined): readonly [provider: string, id: string] | undefined {
  if (custom !== undefined) return [custom, model.startsWith(`${custom}/`) ? model.slice(custom.length + 1) : model]
  const derived = byName.find(([pattern]) => pattern.test(model))?.[1]
  if (derived !== undefined) return [derived, model]
  const slash = model.indexOf('/')
  return slash < 1 ? undefined : [model.slice(0, slash), model.slice(slash + 1)]
}

/** Returns the variable from which LiteLLM reads the key of this model when its entry has none. */
export function keyVariableOf(model: string, custom: string | undefined): string | undefined {
  const provider = splitModel(model, custom)?.[0]
  return provider === undefined ? undefined : keyVariables[provider]
}

/** Returns the target for a model of LiteLLM; a text says why there is none. */
export function targetOf(model: string, custom: string | undefined, apiBase: string | undefined): Target | string {
  const [provider, id] = splitModel(model, custom) ?? []
  if (provider === undefined || id === undefined) return `the provider of ${model} is not known`
  if (provider === 'openai' && apiBase !== undefined && !apiBase.startsWith('https://api.openai.com'))
    return { model: `openai-compatible/${id}`, ...(isOpenAiName(id) && { baseModel: `openai/${id}` }) }
  if (same.has(provider)) return { model: `${provider}/${id}` }
  const special = Object.hasOwn(specials, provider) ? specials[provider] : undefined
  if (special) return special(id, apiBase)
  if (!Object.hasOwn(compatible, provider)) return `provider ${provider} is not supported`
  const base = compatible[provider]
  if (apiBase === undefined && base === undefined) return `api_base is required for ${provider}`
  return { model: `openai-compatible/${id}`, ...(apiBase === undefined && base !== undefined && { apiBase: base }) }
}

/** The address of Azure has no version of the API here. */
function azureTarget(id: string, apiBase: string | undefined): Target | string {
  if (apiBase === undefined) return 'api_base is required for azure'
  const model = `azure/${id}`
  if (/^os\.environ\//.test(apiBase))
    return { model, remark: 'the address must end in /openai/v1; change the value of its variable' }
  const url = URL.parse(apiBase)
  if (!url) return `api_base ${apiBase} is not an address`
  return { model, apiBase: `${url.origin}/openai/v1` }
}

/** LiteLLM's ids may name the API and the region first. */
function bedrockTarget(id: string): Target {
  const [, api, region, name = id] = /^(converse\/|invoke\/)?(?:([a-z]{2}(?:-[a-z]+)+-\d)\/)?(.+)$/.exec(id) ?? []
  return {
    model: `bedrock/${name}`,
    ...(api === 'invoke/' && { protocol: 'bedrock-invoke' }),
    ...(region !== undefined && { region }),
  }
}

const vertexTarget = (id: string): Target => ({ model: `vertex/${id}` })
const ollamaTarget = (id: string): Target => ({ model: `ollama/${id}` })

/** Providers of LiteLLM with rules of their own. */
const specials: Readonly<Record<string, (id: string, apiBase: string | undefined) => Target | string>> = {
  azure: azureTarget,
  vertex_ai: vertexTarget,
  vertex_ai_beta: vertexTarget,
  bedrock: bedrockTarget,
  bedrock_converse: bedrockTarget,
  ollama: ollamaTarget,
  ollama_chat: ollamaTarget,
}

import type { Deployment } from '../../config/config.ts'
import { modelPath } from './bedrock.ts'

/** A request that shows whether an upstream takes a credential. */
export interface Probe {
  readonly method: 'GET' | 'POST'
  /** Behind the base address of the deployment's default protocol. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  /** Statuses besides those of success that show it: a model that is not there, or a setting that it does not take. */
  readonly alsoGood: readonly number[]
}

/** A model that nobody has: asking for it costs nothing, and is refused after the credential was looked at. */
const noModel = 'switchyard-credential-test'
const anthropicHeaders = { 'anthropic-version': '2023-06-01' }

/** Asks for something that every key may read; undefined where the protocol has nothing of the kind. */
export function readingProbe({ provider, protocols: [protocol], apiBase, google }: Deployment): Probe | undefined {
  const reading = { method: 'GET', alsoGood: [] } as const
  if (google) return undefined
  switch (protocol) {
    case 'anthropic-messages':
      // Anybody may read OpenRouter's list of models.
      if (provider === 'openrouter') return { ...reading, path: '/v1/key' }
      return { ...reading, path: '/v1/models?limit=1', headers: anthropicHeaders }
    case 'openai-chat':
    case 'openai-responses':
      return { ...reading, path: '/models' }
    case 'gemini':
      return { ...reading, path: `${/\/v\d[a-z\d]*$/.test(apiBase) ? '' : '/v1beta'}/models?pageSize=1` }
    default:
      return undefined
  }
}

/** Asks a model for one token: the deployment's own, or one that is not there where it has none of its own. */
export function callingProbe({ protocols: [protocol], upstreamModel, apiBase, google }: Deployment): Probe {
  const model = upstreamModel.includes('*') ? noModel : upstreamModel
  const messages = [{ role: 'user', content: 'hi' }]
  const calling = { method: 'POST', alsoGood: [400, 404, 422] } as const
  const counting = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  const version = /\/v\d[a-z\d]*$/.test(apiBase) ? '' : google ? '/v1' : '/v1beta'
  if (google) {
    const { project, location } = google
    const path = `${version}/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
    // Google counts the tokens of its own models only: for any other the answer is that there is none.
    return {
      ...calling,
      path: `${path}/publishers/google/models/${encodeURIComponent(model)}:countTokens`,
      body: counting,
    }
  }
  switch (protocol) {
    case 'bedrock-converse':
    case 'bedrock-invoke': {
      const body = { messages: [{ role: 'user', content: [{ text: 'hi' }] }], inferenceConfig: { maxTokens: 1 } }
      return { ...calling, path: modelPath(model, 'converse'), body }
    }
    case 'gemini':
      // A wrong key is a 400 as well.
      return {
        ...calling,
        alsoGood: [404],
        path: `${version}/models/${encodeURIComponent(model)}:countTokens`,
        body: counting,
      }
    case 'openai-responses':
      return { ...calling, path: '/responses', body: { model, input: 'hi', max_output_tokens: 16 } }
    case 'openai-chat':
      return { ...calling, path: '/chat/completions', body: { model, max_tokens: 1, messages } }
    case 'anthropic-messages':
    case 'vertex-anthropic':
    case 'demo':
      return { ...calling, path: '/v1/messages', headers: anthropicHeaders, body: { model, max_tokens: 1, messages } }
  }
}

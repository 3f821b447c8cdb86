import type { Deployment } from '../../config/deployments.ts'
import { modelPath } from './bedrock.ts'

/** Request that shows whether an upstream accepts a credential. */
export interface Probe {
  readonly method: 'GET' | 'POST'
  /** Path after the base address of the deployment's default protocol. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  /** Error statuses that also prove the credential valid: unknown model or unsupported parameter. */
  readonly alsoGood: readonly number[]
}

/** Model name that does not exist: a request for it is free and is rejected only after the credential check. */
const noModel = 'switchyard-credential-test'
const anthropicHeaders = { 'anthropic-version': '2023-06-01' }

/** Returns a request for something that every key may read; undefined where the protocol has none. */
export function readingProbe({ provider, protocols: [protocol], apiBase, google }: Deployment): Probe | undefined {
  const reading = { method: 'GET', alsoGood: [] } as const
  if (google) return undefined
  switch (protocol) {
    case 'anthropic-messages':
      // OpenRouter's list of models is public.
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

/** Returns a request for one token of the deployment's model, or of a non-existent model for a wildcard deployment. */
export function callingProbe({ protocols: [protocol], upstreamModel, apiBase, google }: Deployment): Probe {
  const model = upstreamModel.includes('*') ? noModel : upstreamModel
  const messages = [{ role: 'user', content: 'hi' }]
  const calling = { method: 'POST', alsoGood: [400, 404, 422] } as const
  const counting = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  const version = /\/v\d[a-z\d]*$/.test(apiBase) ? '' : google ? '/v1' : '/v1beta'
  if (google) {
    const { project, location } = google
    const path = `${version}/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
    // Google counts tokens for its own models only; for any other model it answers 404.
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
      // Google answers 400 for an invalid key, so 400 does not prove the key valid.
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

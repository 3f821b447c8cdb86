import { type GotRequest, type NextAnswer, startEndpointUpstream } from '../upstream/endpoint-upstream.ts'

const json = (value: object): NextAnswer => ({ body: JSON.stringify(value) })
const vector = { values: [0.5, 0.25] }
const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
const model = { id: 'model-1', type: 'model', display_name: 'Model 1', created_at: '2026-01-15T09:00:00Z' }

/** Responses of OpenAI, Anthropic, Google and Cohere to the requests in the examples of the API reference. */
const answers: Readonly<Record<string, NextAnswer>> = {
  'POST /v1/embeddings': json({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: vector.values }],
    model: 'text-embedding-3-small',
    usage: { prompt_tokens: 2, total_tokens: 2 },
  }),
  'POST /v1/completions': json({
    id: 'cmpl_1',
    object: 'text_completion',
    created: 1_768_469_400,
    model: 'gpt-3.5-turbo-instruct',
    choices: [{ text: ' Hello!', index: 0, logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 },
  }),
  'POST /v1/moderations': json({
    id: 'modr_1',
    model: 'omni-moderation-latest',
    results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.01 } }],
  }),
  'POST /v2/rerank': json({
    id: 'rerank_1',
    results: [
      { index: 0, relevance_score: 0.98 },
      { index: 1, relevance_score: 0.02 },
    ],
  }),
  'POST /v1/images/generations': json({ created: 1_768_469_400, data: [{ b64_json: 'aGVsbG8=' }], usage }),
  'POST /v1/audio/speech': { type: 'audio/mpeg', body: Buffer.alloc(3_000, 1) },
  'POST /v1/responses/compact': json({
    id: 'resp_1',
    object: 'response.compaction',
    created_at: 1_768_469_400,
    output: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Say hello' }] }],
    usage,
  }),
  'POST /v1beta/models/gemini-embedding-001:embedContent': json({ embedding: vector }),
  'POST /v1beta/models/gemini-embedding-001:batchEmbedContents': json({ embeddings: [vector] }),
  'GET /v1/models': json({ object: 'list', data: [model], has_more: false, first_id: model.id, last_id: model.id }),
  'GET /v1beta/models': json({ models: [{ name: 'models/gemini-3-pro', displayName: 'Gemini 3 Pro' }] }),
}

/** Input of a response that does not end by itself. */
export const endlessInput = 'Write a novel'

/** Providers for the examples of the API reference, and the configuration of a service that calls them. */
export async function startExampleProviders(): Promise<{ readonly config: string; stop(): Promise<void> }> {
  const { url, answer, stop } = await startEndpointUpstream()
  answer(got =>
    got.body.includes(endlessInput) ? { body: '', isUnanswered: true } : (answers[lineOf(got)] ?? json({})),
  )
  const entry = (name: string, api_base: string) => ({
    model_name: name,
    params: { model: name, api_base, api_key: 'sk-upstream' },
  })
  const openai = [
    'gpt-5.2',
    'text-embedding-3-small',
    'gpt-3.5-turbo-instruct',
    'omni-moderation-latest',
    'gpt-image-1',
    'tts-1',
  ]
  // Not `openai/*`: the lists of models in the examples would have every model of the price list.
  const model_list = [
    ...openai.map(name => entry(`openai/${name}`, `${url}/v1`)),
    entry('anthropic/claude-sonnet-5', url),
    entry('gemini/gemini-embedding-001', url),
    {
      model_name: 'cohere/rerank-v3.5',
      params: { ...entry('cohere/rerank-v3.5', url).params, protocol: 'openai-chat' },
    },
  ]
  return { config: JSON.stringify({ model_list, outbound: { allow: [new URL(url).host] } }), stop }
}

const lineOf = ({ method, url }: GotRequest): string => `${method} ${url.split('?')[0]}`

import type { Examples } from './example.ts'

const messages = [{ role: 'user', content: 'Say hello' }]
const contents = [{ role: 'user', parts: [{ text: 'Say hello' }] }]
const notRun = 'needs an account of a provider: the model `demo` writes only text'
const native = (body?: unknown) => ({ params: { path: 'v1/models' }, ...(body !== undefined && { body }), notRun })

/** Model calls, models and credentials of providers. */
export const gatewayExamples: Examples = {
  'messages.create': { body: { model: 'demo', max_tokens: 100, messages } },
  'messages.count_tokens': { body: { model: 'demo', messages } },
  'openai.chat': { body: { model: 'demo', messages } },
  'openai.responses': { body: { model: 'demo', input: 'Say hello' } },
  'openai.countResponse': { body: { model: 'demo', input: 'Say hello' } },
  'openai.compactResponse': { body: { model: 'openai/gpt-5.2', input: 'Say hello' }, notRun },
  'openai.cancelResponse': { notRun: 'only a background response of a provider can be cancelled' },
  'openai.embeddings': { body: { model: 'openai/text-embedding-3-small', input: 'hello' }, notRun },
  'openai.completions': { body: { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Say hello' }, notRun },
  'openai.moderations': { body: { model: 'openai/omni-moderation-latest', input: 'hello' }, notRun },
  'openai.rerank': {
    body: { model: 'cohere/rerank-v3.5', query: 'capital of France', documents: ['Paris', 'Berlin'] },
    notRun,
  },
  'openai.images': { body: { model: 'openai/gpt-image-1', prompt: 'A lighthouse at dawn' }, notRun },
  'openai.image_edits': { notRun },
  'openai.image_variations': { notRun },
  'openai.speech': { body: { model: 'openai/tts-1', voice: 'alloy', input: 'Hello' }, notRun },
  'openai.transcriptions': { notRun },
  'openai.translations': { notRun },
  'gemini.generate': { body: { contents } },
  'gemini.stream': { body: { contents } },
  'gemini.count_tokens': { body: { contents } },
  'gemini.generate_v1': { body: { contents } },
  'gemini.stream_v1': { body: { contents } },
  'gemini.count_tokens_v1': { body: { contents } },
  'gemini.embed': { body: { content: { parts: [{ text: 'hello' }] } }, notRun },
  'gemini.embed_v1': { body: { content: { parts: [{ text: 'hello' }] } }, notRun },
  'gemini.batch_embed': { notRun },
  'gemini.batch_embed_v1': { notRun },
  ...Object.fromEntries(
    ['anthropic', 'openai', 'gemini', 'bedrock'].flatMap(provider =>
      ['get', 'post', 'put', 'patch', 'delete'].map(verb => [`native.${provider}_${verb}`, native()]),
    ),
  ),
  'model_settings.create': {
    body: { model_name: 'fast', params: { model: 'openai/gpt-5.2-mini', api_key: 'sk-sample-0123456789' } },
  },
  'model_settings.get': { params: { model_id: '{model_setting_id}' } },
  'model_settings.update': { params: { model_id: '{model_setting_id}' }, body: { params: { rpm: 100 } } },
  'model_settings.remove': { params: { model_id: '{model_setting_id}' } },
  'providers.set': { body: { api_key: 'sk-sample-0123456789' } },
  'providers.test': { notRun: 'calls the provider' },
}

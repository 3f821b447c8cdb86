import type { Examples } from './example.ts'

const messages = [{ role: 'user', content: 'Say hello' }]
const contents = [{ role: 'user', parts: [{ text: 'Say hello' }] }]
const content = { parts: [{ text: 'hello' }] }
const embedding = { model: 'gemini/gemini-embedding-001' }
const form = 'takes a form with a file'
const ended = 'the batch of an example ends before it is cancelled'
const account = 'needs an account of AWS'
/** A path of each provider's own API. */
const paths = { anthropic: 'v1/models', openai: 'v1/models', gemini: 'v1beta/models', bedrock: 'foundation-models' }

/** Model calls, models and credentials of providers. */
export const gatewayExamples: Examples = {
  'messages.create': { body: { model: 'demo', max_tokens: 100, messages } },
  'messages.count_tokens': { body: { model: 'demo', messages } },
  'openai.chat': { body: { model: 'demo', messages } },
  'openai.responses': { body: { model: 'demo', input: 'Say hello' } },
  'openai.countResponse': { body: { model: 'demo', input: 'Say hello' } },
  'openai.compactResponse': { body: { model: 'openai/gpt-5.2', input: 'Say hello' } },
  'openai.cancelResponse': { params: { response_id: '{background_response_id}' } },
  'openai.embeddings': { body: { model: 'openai/text-embedding-3-small', input: 'hello' } },
  'openai.completions': { body: { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Say hello' } },
  'openai.moderations': { body: { model: 'openai/omni-moderation-latest', input: 'hello' } },
  'openai.rerank': {
    body: { model: 'cohere/rerank-v3.5', query: 'capital of France', documents: ['Paris', 'Berlin'] },
  },
  'openai.images': { body: { model: 'openai/gpt-image-1', prompt: 'A lighthouse at dawn' } },
  'openai.image_edits': { notRun: form },
  'openai.image_variations': { notRun: form },
  'openai.speech': { body: { model: 'openai/tts-1', voice: 'alloy', input: 'Hello' } },
  'openai.transcriptions': { notRun: form },
  'openai.translations': { notRun: form },
  'batches.create_messages': {
    body: { requests: [{ custom_id: 'first', params: { model: 'demo', max_tokens: 100, messages } }] },
  },
  'batches.list_messages': { query: { limit: 2 } },
  'batches.get_message': { params: { batch_id: '{message_batch_id}' } },
  'batches.cancel_messages': { notRun: ended, params: { batch_id: '{message_batch_id}' } },
  'batches.remove_messages': { params: { batch_id: '{message_batch_id}' } },
  'batches.results': { params: { batch_id: '{message_batch_id}' } },
  'batches.create': {
    body: { input_file_id: '{batch_file_id}', endpoint: '/v1/chat/completions', completion_window: '24h' },
  },
  'batches.list': { query: { limit: 2 } },
  'batches.cancel': { notRun: ended },
  'stored_files.upload': { notRun: form },
  'stored_files.list': { query: { limit: 2 } },
  'stored_files.get': { params: { file_id: '{stored_file_id}' } },
  'stored_files.content': { params: { file_id: '{stored_file_id}' } },
  'stored_files.remove': { params: { file_id: '{stored_file_id}' } },
  'gemini.generate': { body: { contents } },
  'gemini.stream': { body: { contents } },
  'gemini.count_tokens': { body: { contents } },
  'gemini.generate_v1': { body: { contents } },
  'gemini.stream_v1': { body: { contents } },
  'gemini.count_tokens_v1': { body: { contents } },
  'gemini.embed': { params: embedding, body: { content } },
  'gemini.embed_v1': { params: embedding, body: { content } },
  'gemini.batch_embed': { params: embedding, body: { requests: [{ content }] } },
  'gemini.batch_embed_v1': { params: embedding, body: { requests: [{ content }] } },
  ...Object.fromEntries(
    Object.entries(paths).flatMap(([provider, path]) =>
      ['get', 'post', 'put', 'patch', 'delete'].map(verb => [
        `native.${provider}_${verb}`,
        { params: { path }, ...(provider === 'bedrock' && { notRun: account }) },
      ]),
    ),
  ),
  'model_settings.create': {
    body: { model_name: 'fast', params: { model: 'openai/gpt-5.2-mini', api_key: 'sk-sample-0123456789' } },
  },
  'model_settings.get': { params: { model_id: '{model_setting_id}' } },
  'model_settings.update': { params: { model_id: '{model_setting_id}' }, body: { params: { rpm: 100 } } },
  'model_settings.remove': { params: { model_id: '{model_setting_id}' } },
  'deployments.list': { query: { limit: 2 } },
  'deployments.end_cooldown': { params: { deployment_id: 'demo' } },
  'providers.set': { body: { api_key: 'sk-sample-0123456789' } },
  'providers.test': { notRun: 'calls the provider at its own address' },
}

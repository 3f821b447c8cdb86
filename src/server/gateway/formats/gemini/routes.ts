import type { FastifyInstance } from 'fastify'
import { geminiRoutes } from '../../../../contract/gemini.ts'
import type { Model } from '../../../../contract/models.ts'
import { sseReader } from '../../../../contract/sse.ts'
import { bind } from '../../../http/bind.ts'
import type { Caller } from '../../../http/caller.ts'
import { AppError, invalid, notFound } from '../../../platform/errors.ts'
import type { CallKind, Sink } from '../../core/call.ts'
import type { Gateway } from '../../gateway.ts'
import { pageOf } from '../../routing/model-list.ts'
import { createAnswer, serveBytes } from '../../serve-calls.ts'

interface Deps {
  readonly gateway: Gateway
}

interface Method {
  readonly kind: CallKind
  readonly stream: boolean
}

const methods: ReadonlyMap<string, Method> = new Map([
  ['generateContent', { kind: 'gemini', stream: false }],
  ['streamGenerateContent', { kind: 'gemini', stream: true }],
  ['countTokens', { kind: 'gemini_count', stream: false }],
  ['embedContent', { kind: 'gemini_embed', stream: false }],
  ['batchEmbedContents', { kind: 'gemini_embed_batch', stream: false }],
])

/** Routes of model calls and of the model list in Google's format. */
export function serveGemini(app: FastifyInstance, { gateway }: Deps): void {
  // Wildcards, because model ids may contain slashes and colons, plain or encoded. Google's older client omits
  // `models/` before an id with a slash.
  for (const [route, url] of [
    [geminiRoutes.generate, '/v1beta/models/*'],
    [geminiRoutes.generate, '/v1beta/*'],
    [geminiRoutes.generateV1, '/v1/models/*'],
  ] as const) {
    const answer = createAnswer(gateway, route)
    serveBytes(app, { route, url }, async (received, reply) => {
      const path = (received.request.params as { '*': string })['*']
      if (url === '/v1beta/*' && !path.includes(':')) return void reply.callNotFound()
      const { model, method } = parsePath(path)
      const { alt } = received.request.query as { alt?: unknown }
      return answer(received, reply, {
        kind: method.kind,
        address: { model, stream: method.stream },
        ...(method.stream && alt !== 'sse' && { through: createArraySink }),
      })
    })
  }

  bind(app, geminiRoutes.listModels, async ({ query }, { key }) => {
    const { pageSize: limit, pageToken: after_id } = query
    const all = gateway.models(key)
    if (after_id !== undefined && !all.some(({ id }) => id === after_id)) throw invalid('invalid pageToken')
    const { data, has_more: hasMore, last_id: last } = pageOf(all, { limit, after_id })
    return { models: data.map(googleModel), ...(hasMore && last !== null && { nextPageToken: last }) }
  })

  const find = (id: string, { key }: Caller) => {
    const model = gateway.find(id, key)
    if (!model) throw notFound('model', id)
    return googleModel(model)
  }
  bind(app, geminiRoutes.getModel, async ({ params }, caller) => find(params.model, caller))
  app.get('/v1beta/models/*', { config: { route: geminiRoutes.getModel } }, async request =>
    find((request.params as { '*': string })['*'], request.caller),
  )
}

/** Parses a path of Google's API; undefined for a path that is not a model call. */
export function geminiCallOf(path: string): { readonly model: string; readonly method: Method } | undefined {
  const [, model, name = ''] = /^\/v1(?:beta)?\/(?:models\/)?(.+):(\w+)$/.exec(path) ?? []
  const method = methods.get(name)
  return model !== undefined && method ? { model, method } : undefined
}

/** Parses the end of a path, `a/b:generateContent`, to model and method. */
function parsePath(path: string): { readonly model: string; readonly method: Method } {
  const colon = path.lastIndexOf(':')
  const method = methods.get(path.slice(colon + 1))
  if (colon < 0 || !method) throw new AppError('not_found', `unknown method; use ${[...methods.keys()].join(', ')}`)
  const model = path.slice(0, colon)
  if (model === '') throw invalid('path must contain a model id')
  return { model, method }
}

const googleModel = ({ id, display_name, context_window: input, max_output_tokens: output }: Model) => ({
  name: `models/${id}`,
  version: '1',
  displayName: display_name,
  description: `${display_name} through the gateway`,
  ...(input !== undefined && { inputTokenLimit: input }),
  ...(output !== undefined && { outputTokenLimit: output }),
  supportedGenerationMethods: [...methods.keys()],
})

/**
 * Creates a sink that converts an event stream to one JSON array with an element per event, the format for clients that
 * do not request `alt=sse`. Other answers pass unchanged.
 */
export function createArraySink(sink: Sink): Sink {
  let frames: ReturnType<typeof sseReader> | undefined
  const decoder = new TextDecoder()
  let isEmpty = true

  const elements = (chunk: Buffer | undefined): string => {
    if (!frames || !chunk) return ''
    let text = ''
    for (const { data } of frames(decoder.decode(chunk, { stream: true }))) {
      text += `${isEmpty ? '[' : ',\r\n'}${data}`
      isEmpty = false
    }
    return text
  }

  return {
    head(status, headers) {
      const isStream = String(headers['content-type']).startsWith('text/event-stream')
      if (isStream) frames = sseReader()
      sink.head(status, isStream ? { ...headers, 'content-type': 'application/json; charset=utf-8' } : headers)
    },
    data(chunk) {
      if (!frames) return sink.data(chunk)
      const text = elements(chunk)
      return text === '' || sink.data(Buffer.from(text))
    },
    onDrain: resume => sink.onDrain(resume),
    end(chunk) {
      if (!frames) return sink.end(chunk)
      // A frame without its final empty line is truncated and is left out.
      const text = elements(chunk)
      sink.end(Buffer.from(`${text}${isEmpty ? '[' : ''}]`))
    },
  }
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { onLoopback } from '../service/on-loopback.ts'

/** A batch as the provider has it. */
export interface UpstreamBatch {
  readonly id: string
  readonly lines: readonly UpstreamLine[]
  readonly metadata: unknown
  readonly betas: string | undefined
  state: 'running' | 'cancelled' | 'ended' | 'failed'
  readonly createdMs: number
}

interface UpstreamLine {
  readonly custom_id: string
  readonly body: Readonly<Record<string, unknown>>
}

interface Request {
  readonly method: string
  readonly path: string
  readonly text: string
  readonly betas: string | undefined
}

type Answered = readonly [status: number, body: unknown]

/** 1,000 tokens of input and 100 of output. */
const answerOf = (model: unknown, format: 'messages' | 'chat') =>
  format === 'messages'
    ? {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text: 'From a provider.' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 1_000, output_tokens: 100 },
      }
    : {
        id: 'chatcmpl_1',
        object: 'chat.completion',
        created: 1,
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: 'From a provider.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 },
      }

const isBad = ({ body }: UpstreamLine): boolean => body['max_tokens'] === 13

/** Plays the batch APIs of Anthropic and OpenAI, and their single calls. Requests with 13 `max_tokens` fail in batches. */
export async function startBatchUpstream() {
  const batches: UpstreamBatch[] = []
  const files = new Map<string, string>()
  const singles: string[] = []
  const controls = {
    /** Batches end with their first poll unless true. */
    isHeld: false,
    /** Status of the next submissions. */
    rejects: undefined as number | undefined,
    /** The next batch is created, and its answer lost. */
    losesAnswer: false,
  }

  const add = (lines: readonly UpstreamLine[], rest: Pick<UpstreamBatch, 'metadata' | 'betas'>): UpstreamBatch => {
    const id = `theirs_${batches.length + 1}`
    const batch: UpstreamBatch = { id, lines, ...rest, state: 'running', createdMs: Date.now() }
    batches.unshift(batch)
    return batch
  }

  const polled = (id: string | undefined): UpstreamBatch | undefined => {
    const batch = batches.find(known => known.id === id)
    if (batch?.state === 'running' && !controls.isHeld) batch.state = 'ended'
    return batch
  }

  /** A cancelled batch has answered its first request. */
  const done = ({ lines, state }: UpstreamBatch) => (state === 'cancelled' ? lines.slice(0, 1) : lines)

  const anthropic = (batch: UpstreamBatch) => ({
    id: batch.id,
    type: 'message_batch',
    processing_status: batch.state === 'running' ? 'in_progress' : 'ended',
    request_counts: { processing: batch.lines.length, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    created_at: new Date(batch.createdMs).toISOString(),
  })

  const openAi = ({ id, state, metadata, createdMs }: UpstreamBatch) => ({
    id,
    object: 'batch',
    status: { running: 'in_progress', cancelled: 'cancelled', ended: 'completed', failed: 'failed' }[state],
    output_file_id: state === 'running' || state === 'failed' ? null : `out_${id}`,
    errors: { data: [{ code: 'token_limit_exceeded' }] },
    metadata,
    created_at: Math.floor(createdMs / 1_000),
  })

  const anthropicResults = (batch: UpstreamBatch): string =>
    done(batch)
      .map(line => {
        const error = { type: 'error', error: { type: 'invalid_request_error', message: 'unlucky' } }
        const success = { type: 'succeeded', message: answerOf(line.body['model'], 'messages') }
        return JSON.stringify({
          custom_id: line.custom_id,
          result: isBad(line) ? { type: 'errored', error } : success,
        })
      })
      .join('\n')

  const openAiResults = (batch: UpstreamBatch): string =>
    done(batch)
      .filter(line => !isBad(line))
      .map(line => {
        const response = { status_code: 200, request_id: 'r', body: answerOf(line.body['model'], 'chat') }
        return JSON.stringify({ id: 'x', custom_id: line.custom_id, response, error: null })
      })
      .join('\n')

  function created(request: Request): UpstreamBatch {
    const given = JSON.parse(request.text)
    if (request.path === '/v1/messages/batches') {
      const lines = given.requests.map(({ custom_id, params }: { custom_id: string; params: object }) => ({
        custom_id,
        body: params,
      }))
      return add(lines, { metadata: undefined, betas: request.betas })
    }
    const lines = (files.get(given.input_file_id) ?? '').split('\n').map(line => JSON.parse(line))
    return add(lines, { metadata: given.metadata, betas: undefined })
  }

  function upload({ text }: Request): Answered {
    const id = `file-${files.size + 1}`
    const lines = text.split(/\r?\n/).filter(line => line.startsWith('{'))
    files.set(id, lines.join('\n'))
    return [200, { id }]
  }

  function batchOf({ path }: Request, id: string, action: string | undefined): Answered {
    const batch = polled(id)
    const isAnthropic = path.startsWith('/v1/messages')
    if (!batch) return [404, { error: { message: 'no such batch' } }]
    if (action === 'results') return [200, anthropicResults(batch)]
    if (action === 'cancel') batch.state = 'cancelled'
    return [200, isAnthropic ? anthropic(batch) : openAi(batch)]
  }

  function single(request: Request): Answered {
    singles.push(request.text)
    const { model } = JSON.parse(request.text)
    return [200, answerOf(model, request.path.endsWith('/messages') ? 'messages' : 'chat')]
  }

  function answered(request: Request): Answered {
    const { method, path } = request
    const [, id = '', action] = /^\/v1\/(?:messages\/)?batches\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? []
    if (id !== '') return batchOf(request, id, action)
    if (path === '/v1/files') return upload(request)
    const output = /^\/v1\/files\/out_([^/]+)\/content$/.exec(path)?.[1]
    if (output !== undefined) return [200, openAiResults(polled(output) ?? raise(`no batch ${output}`))]
    if (!path.endsWith('/batches')) return single(request)
    const shown: (batch: UpstreamBatch) => object = path.startsWith('/v1/messages') ? anthropic : openAi
    if (method === 'GET')
      return [200, { data: batches.flatMap(({ id: known }) => polled(known) ?? []).map(shown), has_more: false }]
    return [200, shown(created(request))]
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', 'http://upstream')
    const { method = '' } = request
    const isSubmission = method === 'POST' && pathname.endsWith('/batches')
    const text = await textOf(request)
    if (isSubmission && controls.rejects !== undefined) {
      response.writeHead(controls.rejects, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: 'rejected' } }))
      return
    }
    const betas = request.headers['anthropic-beta'] as string | undefined
    const [status, body] = answered({ method, path: pathname, text, betas })
    if (isSubmission && controls.losesAnswer) {
      controls.losesAnswer = false
      response.destroy()
      return
    }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  return {
    ...(await onLoopback(server)),
    /** Newest first. */
    batches: batches as readonly UpstreamBatch[],
    /** Bodies of single calls, oldest first. */
    singles: singles as readonly string[],
    controls,
  }
}

function raise(message: string): never {
  throw new Error(message)
}

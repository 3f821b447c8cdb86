import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onLoopback } from '../service/on-loopback.ts'

/** A request for an answer as the provider got it. */
interface FileRequest {
  readonly url: string
  readonly beta: string | undefined
  readonly text: string
}

const usage = { input_tokens: 3, output_tokens: 1 }
const answers: Readonly<Record<string, object>> = {
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Read.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  },
  completions: {
    id: 'chatcmpl_1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Read.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Read.', annotations: [] }],
      },
    ],
    usage: { ...usage, total_tokens: 4 },
  },
}

/** A provider with a Files API, which answers `Read.` in the format of the path. */
export async function startFileUpstream() {
  const stored = new Map<string, string>()
  const asked: FileRequest[] = []
  const uploads: string[] = []

  const json = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const text = (await buffer(request)).toString('latin1')
    if (path.endsWith('/files')) {
      const id = `theirs_${uploads.push(text)}`
      stored.set(id, text)
      return json(response, 200, { id })
    }
    asked.push({ url: path, beta: request.headers['anthropic-beta'] as string | undefined, text })
    const missing = [...text.matchAll(/theirs_\d+/g)].find(([id]) => !stored.has(id))?.[0]
    if (missing) {
      const error = { type: 'not_found_error', message: `File not found: ${missing}` }
      return json(response, 404, { type: 'error', error })
    }
    json(response, 200, answers[path.slice(path.lastIndexOf('/') + 1)] ?? {})
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const { url, host, close } = await onLoopback(server)
  return {
    url,
    host,
    /** Requests for an answer, oldest first. */
    asked: asked as readonly FileRequest[],
    /** Bodies of the uploads, oldest first. */
    uploads: uploads as readonly string[],
    /** Deletes all stored files. */
    forget: () => stored.clear(),
    close,
  }
}

import { type Json, recordOf, textOf } from '../../platform/json.ts'
import { ownHeaders } from '../upstream/headers.ts'
import type { BatchApi, BatchProvider, Interrupted, ProviderResult, SubmittedRequest } from './batch-api.ts'
import { type BatchConnection, idIn } from './connection.ts'

const headers = { ...ownHeaders, 'anthropic-version': '2023-06-01' } as const

const urlOf = ({ deployment }: BatchProvider, path = ''): string => `${deployment.apiBase}/v1/messages/batches${path}`

/** Batches of Anthropic's API. */
export function createAnthropicBatches({ json, lines, createdSince }: BatchConnection): BatchApi {
  async function* results(provider: BatchProvider, id: string): AsyncGenerator<ProviderResult> {
    const url = urlOf(provider, `/${encodeURIComponent(id)}/results`)
    for await (const { custom_id, result } of lines(provider, { url, headers })) {
      const { type, message } = recordOf(result)
      yield { name: textOf(custom_id), answer: type === 'succeeded' ? JSON.stringify(message) : undefined }
    }
  }

  const isOurs = async (provider: BatchProvider, id: string, { id: own }: Interrupted): Promise<boolean> => {
    for await (const { name } of results(provider, id)) return name.startsWith(own)
    return false
  }

  return {
    async submit(provider, { requests }) {
      const parts = requests.flatMap(({ name, body }, at) => [
        Buffer.from(`${at === 0 ? '{"requests":[' : ','}{"custom_id":${JSON.stringify(name)},"params":`),
        body,
        Buffer.from('}'),
      ])
      parts.push(Buffer.from(']}'))
      const length = parts.reduce((sum, part) => sum + part.length, 0)
      const sent = { ...headersOf(requests), 'content-length': String(length) }
      return idIn(await json(provider, { method: 'POST', url: urlOf(provider), headers: sent, body: streamOf(parts) }))
    },

    async state(provider, id) {
      const batch = await json(provider, { url: urlOf(provider, `/${encodeURIComponent(id)}`), headers })
      return batch['processing_status'] === 'ended' ? 'ended' : 'running'
    },

    async cancel(provider, id) {
      const url = urlOf(provider, `/${encodeURIComponent(id)}/cancel`)
      await json(provider, { method: 'POST', url, headers })
    },

    results,

    /** A batch has no metadata, and shows the names of its requests with their results. */
    async find(provider, interrupted) {
      let isUnsure = false
      const list = { url: urlOf(provider), headers, cursor: 'after_id', createdMs }
      for await (const batch of createdSince(provider, interrupted.submittedAt, list)) {
        const id = idIn(batch)
        if (sizeOf(batch) !== interrupted.size || (await interrupted.isOther(id))) continue
        if (batch['processing_status'] !== 'ended') isUnsure = true
        else if (await isOurs(provider, id, interrupted)) return { id }
      }
      return isUnsure ? 'unsure' : undefined
    },
  }
}

const createdMs = (batch: Json): number => Date.parse(textOf(batch['created_at']))

async function* streamOf(parts: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* parts
}

/** The headers of a batch are those of all its requests, some of which refer to files and name the beta for that. */
function headersOf(requests: readonly SubmittedRequest[]): Record<string, string> {
  const betas = new Set(requests.flatMap(request => request.headers['anthropic-beta']?.split(/ *, */) ?? []))
  return { ...requests[0]?.headers, ...(betas.size > 0 && { 'anthropic-beta': [...betas].join(',') }) }
}

const sizeOf = (batch: Json): number =>
  Object.values(recordOf(batch['request_counts'])).reduce<number>((sum, count) => sum + Number(count), 0)

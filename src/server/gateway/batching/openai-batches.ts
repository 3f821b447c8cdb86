import { type Json, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import { ownHeaders } from '../upstream/headers.ts'
import { basePathOf } from '../upstream/paths.ts'
import { uploadBody, uploadForm } from '../upstream/upload-form.ts'
import type { BatchApi, BatchProvider, ProviderBatchState, ProviderResult, Submission } from './batch-api.ts'
import { type BatchConnection, idIn } from './connection.ts'

/** Name of the metadata with our id of a batch. */
const idName = 'switchyard_batch'

const urlOf = (provider: BatchProvider, path: string): string =>
  `${provider.deployment.apiBase}${basePathOf(provider)}${path}`
const batchUrl = (provider: BatchProvider, id: string, path = ''): string =>
  urlOf(provider, `/batches/${encodeURIComponent(id)}${path}`)

/** Batches of OpenAI's API. */
export function createOpenAiBatches({ json, lines, createdSince }: BatchConnection): BatchApi {
  async function upload(provider: BatchProvider, { id, path, requests }: Submission): Promise<string> {
    const content = requests.map(({ name, body }) => lineOf(name, path, body))
    const bytes = content.reduce((sum, { length }) => sum + length, 0)
    const form = uploadForm({ filename: `${id}.jsonl`, media_type: 'application/jsonl' }, [['purpose', 'batch']])
    const headers = {
      ...ownHeaders,
      'content-type': `multipart/form-data; boundary=${form.boundary}`,
      'content-length': String(form.before.length + bytes + form.after.length),
    }
    const body = uploadBody(form, content)
    return idIn(await json(provider, { method: 'POST', url: urlOf(provider, '/files'), headers, body }))
  }

  return {
    async submit(provider, submission) {
      const input_file_id = await upload(provider, submission)
      const metadata = { [idName]: submission.id }
      const about = { input_file_id, endpoint: submission.path, completion_window: '24h', metadata }
      const body = Buffer.from(JSON.stringify(about))
      return idIn(await json(provider, { method: 'POST', url: urlOf(provider, '/batches'), headers: ownHeaders, body }))
    },

    async state(provider, id) {
      const batch = await json(provider, { url: batchUrl(provider, id), headers: ownHeaders })
      return stateOf(batch)
    },

    async cancel(provider, id) {
      await json(provider, { method: 'POST', url: batchUrl(provider, id, '/cancel'), headers: ownHeaders })
    },

    async *results(provider, id): AsyncGenerator<ProviderResult> {
      const batch = await json(provider, { url: batchUrl(provider, id), headers: ownHeaders })
      const fileId = nonEmptyText(batch['output_file_id'])
      if (fileId === undefined) return
      const url = urlOf(provider, `/files/${encodeURIComponent(fileId)}/content`)
      for await (const { custom_id, response } of lines(provider, { url, headers: ownHeaders })) {
        const { status_code: status, body } = recordOf(response)
        yield { name: textOf(custom_id), answer: status === 200 ? JSON.stringify(body) : undefined }
      }
    },

    async find(provider, { id, submittedAt }) {
      const list = { url: urlOf(provider, '/batches'), headers: ownHeaders, cursor: 'after', createdMs }
      for await (const batch of createdSince(provider, submittedAt, list))
        if (recordOf(batch['metadata'])[idName] === id) return { id: idIn(batch) }
      return undefined
    },
  }
}

const createdMs = (batch: Json): number => Number(batch['created_at']) * 1_000

/** Line breaks of JSON are white space. */
const oneLine = (json: Buffer): string => json.toString('utf8').replaceAll(/[\r\n]+/g, ' ')

const lineOf = (name: string, url: string, body: Buffer): Buffer =>
  Buffer.from(`{"custom_id":${JSON.stringify(name)},"method":"POST","url":"${url}","body":${oneLine(body)}}\n`)

function stateOf({ status, errors }: Json): ProviderBatchState {
  if (status === 'completed' || status === 'expired' || status === 'cancelled') return 'ended'
  if (status !== 'failed') return 'running'
  const isFull = recordsOf(recordOf(errors)['data']).some(({ code }) => code === 'token_limit_exceeded')
  return isFull ? 'full' : 'failed'
}

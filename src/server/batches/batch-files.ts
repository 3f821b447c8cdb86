import type { BatchError } from '../../contract/batches.ts'
import type { FileBy, Files } from '../files/files.ts'
import { serviceActor } from '../http/caller.ts'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import type { JobEnd } from './batch-keeper.ts'
import { type BatchJob, type BatchStore, ClaimLost } from './batch-store.ts'
import { readInputFile } from './input-file.ts'
import type { LineStore } from './line-store.ts'
import { lineWriterOf } from './new-lines.ts'
import type { TargetOfLine } from './provider/target-of-line.ts'
import { endpointOf } from './public-batch.ts'
import { openAiLine, resultLines } from './result-lines.ts'

interface Deps {
  readonly store: BatchStore
  readonly lines: Pick<LineStore, 'page'>
  readonly targetOf: TargetOfLine
  readonly files: Pick<Files, 'get' | 'contentOf' | 'create' | 'list' | 'remove'>
}

const outputPurpose = 'batch_output'
/** Wait before output files are written again that the files of their owner have no room for. */
const noRoomMs = 60_000
const listed = 100

/** Creates the job of batches with files: it checks and stores the lines of an input file, or writes the output files. */
export function createBatchFiles({ store, lines, targetOf, files }: Deps) {
  async function validate(job: BatchJob, signal: AbortSignal): Promise<JobEnd> {
    // Of a validation that was interrupted.
    while ((await store.dropLines(job)) > 0);
    const file = await files.get(job.principal, job.input_file_id ?? '').catch(undefinedIfMissing)
    if (!file)
      return failed(job, [{ code: 'file_not_found', message: `file ${job.input_file_id} not found`, ...nowhere }])
    const writer = lineWriterOf(store, job)
    const content = untilAborted(files.contentOf(file), signal)
    const errors = await readInputFile({ content, endpoint: endpointOf(job), targetOf, writer })
    if (errors.length > 0) return failed(job, errors)
    await store.start(job, await writer.end())
    return 'done'
  }

  async function failed(job: BatchJob, errors: readonly BatchError[]): Promise<JobEnd> {
    while ((await store.dropLines(job)) > 0);
    await store.fail(job, errors)
    return 'done'
  }

  async function finalize(job: BatchJob, signal: AbortSignal): Promise<JobEnd> {
    const by: FileBy = { owner: job.principal, actor: serviceActor }
    await removeFormer(job, by)
    const written: string[] = []
    const write = async (isSuccess: boolean): Promise<string | null> => {
      const count = isSuccess ? job.succeeded : job.lines - job.succeeded
      if (count === 0) return null
      const content = untilAborted(resultLines(lines, job, { isSuccess, lineOf: openAiLine }), signal)
      const filename = filenameOf(job, isSuccess)
      const fields = { purpose: outputPurpose, filename, mediaType: 'application/jsonl' }
      const { id } = await files.create(content, { ...fields, expiresInS: job.output_expires_s ?? undefined }, by)
      written.push(id)
      return id
    }
    try {
      const ids = { output_file_id: await write(true), error_file_id: await write(false) }
      if (await store.finish(job, ids)) return 'done'
      throw new ClaimLost(`batch ${job.id} was deleted or claimed by another process`)
    } catch (error) {
      for (const id of written) await files.remove(id, by)
      if (!(error instanceof AppError) || error instanceof DatabaseUnavailable) throw error
      return { waitMs: noRoomMs, reason: `cannot store the output files: ${error.message}` }
    }
  }

  /** Removes files of a process that exited before the batch knew them. */
  async function removeFormer(job: BatchJob, by: FileBy): Promise<void> {
    const names = [true, false].map(isSuccess => filenameOf(job, isSuccess))
    for (const file of await files.list(by.owner, { purpose: outputPurpose, order: 'desc', limit: listed }))
      if (names.includes(file.filename)) await files.remove(file.id, by)
  }

  return (job: BatchJob, signal: AbortSignal): Promise<JobEnd> =>
    job.state === 'validating' ? validate(job, signal) : finalize(job, signal)
}

const nowhere = { line: null, param: null }

const filenameOf = ({ id }: BatchJob, isSuccess: boolean): string => `${id}_${isSuccess ? 'output' : 'error'}.jsonl`

function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'not_found') return undefined
  throw error
}

/** Throws ClaimLost once the signal aborts, so that a job ends with its claim. */
async function* untilAborted(content: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    if (signal.aborted) throw new ClaimLost('the claim on a batch ended')
    yield chunk
  }
}

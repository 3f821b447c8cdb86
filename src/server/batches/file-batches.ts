import type { Static } from 'typebox'
import type { batchRoutes } from '../../contract/batches.ts'
import type { OnceKey } from '../db/once.ts'
import type { Files } from '../files/files.ts'
import type { Caller } from '../http/caller.ts'
import { invalid } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { BatchRow, BatchStore } from './batch-store.ts'
import { rejectMany } from './errors.ts'
import { kindOfEndpoint } from './public-batch.ts'

interface Deps {
  readonly store: Pick<BatchStore, 'insert' | 'open'>
  readonly files: Pick<Files, 'get'>
  /** Notifies the processes that check the file and make the calls. */
  readonly announce: () => void
}

type BatchCreate = Static<(typeof batchRoutes)['create']['body']>

/** Creates batches in OpenAI's format. The input file is checked in the background. `request` makes a repeat return the first batch. */
export const createFileBatches =
  ({ store, files, announce }: Deps) =>
  async (given: BatchCreate, { principal, key }: Caller, request?: OnceKey): Promise<BatchRow> => {
    const { input_file_id, endpoint, metadata, output_expires_after: expiry } = given
    const file = await files.get(principal, input_file_id)
    if (file.purpose !== 'batch')
      throw invalid(`input_file_id ${input_file_id} has purpose ${file.purpose}; upload the file with purpose batch`)
    rejectMany(await store.open(principal))
    const about = { format: 'openai', kind: kindOfEndpoint[endpoint], headers: {}, state: 'validating' } as const
    const row = await store.insert(
      {
        id: newId('batch'),
        principal,
        key_id: key?.id ?? null,
        ...about,
        metadata: metadata ?? null,
        input_file_id,
        output_expires_s: expiry?.seconds ?? null,
      },
      null,
      request,
    )
    announce()
    return row
  }

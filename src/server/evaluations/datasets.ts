import type { Pool, PoolClient } from 'pg'
import {
  type CaseFileWrite,
  type CaseWrite,
  type Dataset,
  type DatasetCase,
  maxCaseFileBytes,
  maxCases,
  type RejectedCase,
} from '../../contract/datasets.ts'
import type { Grader } from '../../contract/graders.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, invalidCursor, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import type { DatasetStore, NewCase, PlacedCase } from './dataset-store.ts'
import type { Copied } from './recording.ts'
import { type Redact, secretIn, withoutSecrets } from './secret-screen.ts'

interface Deps {
  readonly pool: Pool
  readonly store: DatasetStore
  readonly audit: Audit
  /** Copies a prompt of a session. */
  readonly copy: (source: NonNullable<CaseWrite['source']>, caller: Caller) => Promise<Copied>
  readonly redact: Redact
  readonly resultSchemas: Pick<ResultSchemas, 'schemaProblem'>
}

interface PageOf {
  readonly after: string | undefined
  readonly limit: number
}

interface Adding {
  readonly cases: readonly CaseWrite[]
  /** True: secrets are replaced; false: their cases are rejected. */
  readonly redact: boolean
}

/** Cases that were added, and those that were not. */
interface Added {
  readonly cases: DatasetCase[]
  readonly rejected: RejectedCase[]
}

const maxNameLength = 200
const shownNameLength = 80

/** Rules of datasets: who may see which, and which cases are rejected. */
export type Datasets = ReturnType<typeof createDatasets>

export function createDatasets({ pool, store, audit, copy, redact, resultSchemas }: Deps) {
  async function get(id: string, { ownerScope }: Caller): Promise<Dataset> {
    const found = await store.find(id, ownerScope)
    if (!found) throw notFound('dataset', id)
    return found
  }

  async function locked(client: PoolClient, id: string, { ownerScope }: Caller): Promise<Dataset> {
    const found = await store.lock(client, id, ownerScope)
    if (!found) throw notFound('dataset', id)
    return found
  }

  const record = (client: PoolClient, verb: string, { actor }: By, { dataset, ...change }: Change): Promise<void> =>
    audit.record(sqlOfClient(client), {
      actor,
      action: `dataset.${verb}`,
      objectId: dataset.id,
      ownerId: dataset.owner_id,
      ...change,
    })

  async function graderProblem(grader: Grader): Promise<string | undefined> {
    if (grader.type === 'regex') return patternProblem(grader.pattern)
    if (grader.type !== 'json_schema') return undefined
    const problem = await resultSchemas.schemaProblem(grader.schema)
    return problem === undefined ? undefined : `schema ${problem}`
  }

  async function checkGraders(graders: readonly Grader[]): Promise<void> {
    for (const [at, grader] of graders.entries()) {
      const problem = await graderProblem(grader)
      if (problem !== undefined) throw invalid(`graders[${at}].${problem}`)
    }
  }

  /** Returns what the session of a case gets: from the request, or from a prompt of a session. */
  async function contentOf({ source, prompts, files }: CaseWrite, caller: Caller): Promise<Content> {
    if (source && (prompts || files)) throw invalid('source excludes prompts and files')
    if (source) return copy(source, caller)
    if (!prompts) throw invalid('prompts or source is required')
    return { prompts, files: checkedFiles(files ?? []), recorded: undefined }
  }

  /** Returns a case that can be stored. Throws an AppError that explains what is wrong with it. */
  async function caseOf(write: CaseWrite, { isRedacted, caller }: Accepting): Promise<NewCase> {
    const { source, graders = [], metadata = {} } = write
    await checkGraders(graders)
    const content = await contentOf(write, caller)
    const name = write.name ?? nameOf(content.prompts[0] ?? '')
    const given = { id: newId('case'), name, ...content, graders, metadata, source }
    if (isRedacted) return withoutSecrets(given, redact)
    const place = secretIn(given, redact)
    if (place !== undefined)
      throw invalid(`${place} contains what looks like a secret; remove it, or send redact: true to replace it`)
    return given
  }

  return {
    get,

    list: ({ ownerScope }: Caller, page: PageOf): Promise<Dataset[]> => store.list(ownerScope, page),

    create(write: Pick<Dataset, 'name' | 'description'>, { idempotency, ...by }: By & Repeated): Promise<Dataset> {
      const { principal, ownerScope } = by.caller
      const given = { ...write, id: newId('dset'), owner_id: ownerScope ?? principal }
      return transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          await store.insert(client, given)
          await record(client, 'create', by, { dataset: given, after: given })
          const stored = await store.find(given.id, undefined, client)
          if (!stored) throw new Error(`dataset ${given.id} is missing right after its creation (bug)`)
          return stored
        }),
      )
    },

    async remove(id: string, by: By): Promise<void> {
      await transaction(pool, async client => {
        const dataset = await locked(client, id, by.caller)
        await store.remove(client, id)
        await record(client, 'delete', by, { dataset, before: auditFields(dataset) })
      })
    },

    async cases(id: string, caller: Caller, { after, limit }: PageOf): Promise<PlacedCase[]> {
      await get(id, caller)
      if (after !== undefined && !/^\d{1,9}$/.test(after)) throw invalidCursor()
      return store.cases(id, { after, limit })
    },

    /** Adds the cases that have no problem, all of them in one transaction. */
    async add(id: string, { cases, redact: isRedacted }: Adding, by: By): Promise<Added> {
      await get(id, by.caller)
      const accepted: NewCase[] = []
      const rejected: RejectedCase[] = []
      for (const [index, write] of cases.entries()) {
        try {
          accepted.push(await caseOf(write, { isRedacted, caller: by.caller }))
        } catch (error) {
          if (!(error instanceof AppError) || error.code === 'unavailable') throw error
          rejected.push({ index, name: write.name ?? null, reason: error.message })
        }
      }
      const added = await transaction(pool, async client => {
        const dataset = await locked(client, id, by.caller)
        if (dataset.cases + accepted.length > maxCases)
          throw invalid(`cases: a dataset has at most ${maxCases} cases, and this one has ${dataset.cases}`)
        await store.add(client, id, accepted)
        const ids = accepted.map(each => each.id)
        if (ids.length > 0) await record(client, 'add_cases', by, { dataset, after: { case_ids: ids } })
        return store.casesOf(client, ids)
      })
      return { cases: added, rejected }
    },

    async removeCase(id: string, caseId: string, by: By): Promise<void> {
      await transaction(pool, async client => {
        const dataset = await locked(client, id, by.caller)
        if (!(await store.removeCase(client, id, caseId))) throw notFound('case', caseId)
        await record(client, 'remove_case', by, { dataset, before: { case_id: caseId } })
      })
    },
  }
}

type Content = Pick<NewCase, 'prompts' | 'files' | 'recorded'>

interface Accepting {
  readonly isRedacted: boolean
  readonly caller: Caller
}

interface Repeated {
  readonly idempotency: Idempotency | undefined
}

interface Change {
  readonly dataset: Pick<Dataset, 'id' | 'owner_id'>
  readonly before?: object
  readonly after?: object
}

const auditFields = ({ id, name, description, cases }: Dataset) => ({ id, name, description, cases })

/** Returns a name from the first prompt. */
const nameOf = (prompt: string): string => {
  const line = prompt.replaceAll(/\s+/g, ' ').trim()
  return [...line].slice(0, shownNameLength).join('').slice(0, maxNameLength)
}

function patternProblem(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'u')
    return undefined
  } catch (error) {
    return `pattern is not a valid regular expression: ${error instanceof Error ? error.message.slice(0, 200) : ''}`
  }
}

function checkedFiles(files: readonly CaseFileWrite[]): readonly CaseFileWrite[] {
  let bytes = 0
  for (const [at, { data }] of files.entries()) {
    // The decoder of Node skips what is not base64.
    if (Buffer.from(data, 'base64').toString('base64') !== data) throw invalid(`files[${at}].data is not base64`)
    bytes += Buffer.byteLength(data, 'base64')
  }
  if (bytes > maxCaseFileBytes) throw invalid(`files exceed ${maxCaseFileBytes} bytes together`)
  return files
}

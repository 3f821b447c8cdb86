import { type Static, Type } from 'typebox'
import { Grader, maxGraders } from './graders.ts'
import { Metadata } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { Name, NextCursor, Nullable, pageQuery } from './schemas.ts'

/** Maximum number of cases of one dataset, and of one request. */
export const maxCases = 5_000
export const maxCasesOfRequest = 100
/** Maximum bytes of the files of a case, and of its recorded tool results as JSON. */
export const maxCaseFileBytes = 5 * 1024 * 1024
export const maxRecordedBytes = 4 * 1024 * 1024
const maxPrompts = 20

const Time = Type.String({ format: 'date-time' })
const Description = Type.String({ maxLength: 10_000 })
const PromptText = Type.String({ minLength: 1, maxLength: 200_000, pattern: '\\S' })

/** Named list of cases. */
export const Dataset = named(
  'Dataset',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Nullable(Type.String()),
    owner_id: Type.String({ description: 'Principal that created it' }),
    cases: Type.Integer({ description: 'Number of cases' }),
    created_at: Time,
    updated_at: Time,
  }),
)
export type Dataset = Static<typeof Dataset>

const CaseFileWrite = named(
  'CaseFileWrite',
  Type.Object({
    name: Type.String({ minLength: 1, maxLength: 200 }),
    media_type: Type.Optional(Type.String({ maxLength: 200, description: 'Such as `image/png` or `text/csv`' })),
    data: Type.String({ description: 'Content in base64' }),
  }),
)
export type CaseFileWrite = Static<typeof CaseFileWrite>

const CaseFile = named(
  'CaseFile',
  Type.Object({
    name: Type.String(),
    media_type: Nullable(Type.String()),
    size: Type.Integer({ description: 'Bytes' }),
  }),
)

const CaseSource = named(
  'CaseSource',
  Type.Object(
    {
      session_id: Type.String({ minLength: 1, maxLength: 200 }),
      prompt_id: Type.String({ minLength: 1, maxLength: 200 }),
    },
    {
      description:
        'Prompt of a session that has ended: its text, its files and its recorded tool results, instead of `prompts` and `files`. Earlier prompts of the session are not copied',
    },
  ),
)
export type CaseSource = Static<typeof CaseSource>

/** One case: prompts that one session gets in order, and graders of its last answer. Cases never change. */
export const DatasetCase = named(
  'DatasetCase',
  Type.Object({
    id: Type.String(),
    dataset_id: Type.String(),
    name: Type.String(),
    prompts: Type.Array(Type.String()),
    files: Type.Array(CaseFile, { description: 'Files of the first prompt' }),
    graders: Type.Array(Grader),
    metadata: Metadata,
    source: Nullable(CaseSource),
    recorded_calls: Nullable(
      Type.Integer(),
      'Number of recorded tool results, with which a replay answers; null without a recording',
    ),
    created_at: Time,
  }),
)
export type DatasetCase = Static<typeof DatasetCase>

const CaseWrite = named(
  'CaseWrite',
  Type.Object({
    name: Type.Optional({ ...Name, description: 'Default: the start of the first prompt' }),
    prompts: Type.Optional(
      Type.Array(PromptText, {
        minItems: 1,
        maxItems: maxPrompts,
        description: 'Prompts that one session gets in this order; required without `source`',
      }),
    ),
    source: Type.Optional(CaseSource),
    files: Type.Optional(Type.Array(CaseFileWrite, { maxItems: 20, description: 'Files of the first prompt' })),
    graders: Type.Optional(Type.Array(Grader, { maxItems: maxGraders, default: [] })),
    metadata: Type.Optional(Metadata),
  }),
)
export type CaseWrite = Static<typeof CaseWrite>

const RejectedCase = named(
  'RejectedCase',
  Type.Object({
    index: Type.Integer({ description: 'Position in the request, from 0' }),
    name: Nullable(Type.String()),
    reason: Type.String(),
  }),
)
export type RejectedCase = Static<typeof RejectedCase>

const DatasetPath = Type.Object({ dataset_id: Type.String() })
const base = { access: 'key', errorShape: 'nested' } as const

export const datasetRoutes = {
  list: route({
    ...base,
    id: 'datasets.list',
    method: 'GET',
    path: '/api/datasets',
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ datasets: Type.Array(Dataset), next_cursor: NextCursor }) },
    summary: 'List datasets',
    description: 'Lists datasets, newest first, with the number of their cases.',
  }),
  create: route({
    ...base,
    id: 'datasets.create',
    method: 'POST',
    path: '/api/datasets',
    body: Type.Object({ name: Name, description: Type.Optional(Nullable(Description)) }),
    responses: { 201: Dataset },
    summary: 'Create a dataset',
    description: 'Creates an empty dataset. Add cases to it, then run experiments on it.',
  }),
  get: route({
    ...base,
    id: 'datasets.get',
    method: 'GET',
    path: '/api/datasets/{dataset_id}',
    params: DatasetPath,
    responses: { 200: Dataset },
    summary: 'Read a dataset',
    description: 'Returns one dataset without its cases.',
  }),
  remove: route({
    ...base,
    id: 'datasets.remove',
    method: 'DELETE',
    path: '/api/datasets/{dataset_id}',
    params: DatasetPath,
    responses: { 204: null },
    summary: 'Delete a dataset',
    description:
      'Deletes a dataset with its cases. Results of experiments stay; cases of running experiments that have not started end with the error `case_deleted`.',
  }),
  cases: route({
    ...base,
    id: 'datasets.cases',
    method: 'GET',
    path: '/api/datasets/{dataset_id}/cases',
    params: DatasetPath,
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ cases: Type.Array(DatasetCase), next_cursor: NextCursor }) },
    summary: 'List the cases of a dataset',
    description: 'Lists cases in their order, without the content of files and recorded results.',
  }),
  add: route({
    ...base,
    id: 'datasets.add',
    method: 'POST',
    path: '/api/datasets/{dataset_id}/cases',
    params: DatasetPath,
    bodyLimit: 30 * 1024 * 1024,
    body: Type.Object({
      cases: Type.Array(CaseWrite, { minItems: 1, maxItems: maxCasesOfRequest }),
      redact: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Replaces what looks like a secret by `[secret]`, instead of rejecting the case',
        }),
      ),
    }),
    responses: { 201: Type.Object({ cases: Type.Array(DatasetCase), rejected: Type.Array(RejectedCase) }) },
    summary: 'Add cases to a dataset',
    description:
      'Adds cases at the end. A case whose texts contain what looks like a secret, whose grader cannot work, or whose source cannot be read is listed in `rejected` with the reason; the others are added. ' +
      `A dataset has at most ${maxCases} cases.`,
  }),
  removeCase: route({
    ...base,
    id: 'datasets.remove_case',
    method: 'DELETE',
    path: '/api/datasets/{dataset_id}/cases/{case_id}',
    params: Type.Object({ dataset_id: Type.String(), case_id: Type.String() }),
    responses: { 204: null },
    summary: 'Delete a case of a dataset',
    description: 'Deletes a case with its files and recorded results. Results of experiments stay.',
  }),
}

import { type Json, nonEmptyText, recordOf } from '../platform/json.ts'

/** The repository that a session works on. */
export interface Repository {
  readonly url: string
  /** Branch or other name; undefined for the default branch. */
  readonly ref: string | undefined
}

/** Reads the repository from a session's `environment`, including the field names of older clients. Gaps: section 5. */
export function repositoryIn(environment: Json): Repository | undefined {
  const source = recordOf(environment['source'])
  const url = nonEmptyText(environment['repository']) ?? nonEmptyText(source['repository'])
  const ref = nonEmptyText(environment['ref']) ?? nonEmptyText(source['ref'])
  return url === undefined ? undefined : { url, ref }
}

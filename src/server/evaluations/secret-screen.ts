import type { NewCase } from './dataset-store.ts'

/** Returns a text with a marker instead of what looks like a secret; the same text without one. */
export type Redact = (text: string) => string

type Screened = Pick<NewCase, 'name' | 'prompts' | 'files' | 'graders' | 'metadata' | 'recorded'>

/** Returns the path of the first part of a case that contains what looks like a secret; undefined without one. */
export function secretIn(given: Screened, redact: Redact): string | undefined {
  const after = withoutSecrets(given, redact)
  const lists = ['prompts', 'files', 'graders', 'recorded'] as const
  for (const list of lists) {
    const at = (given[list] ?? []).findIndex((part, index) => !isEqual(part, after[list]?.[index]))
    if (at >= 0) return `${list}[${at}]`
  }
  return (['name', 'metadata'] as const).find(field => !isEqual(given[field], after[field]))
}

/** Returns the case with markers instead of secrets. */
export function withoutSecrets<Case extends Screened>(given: Case, redact: Redact): Case {
  const { name, prompts, files, graders, metadata, recorded } = given
  return {
    ...given,
    name: redact(name),
    prompts: prompts.map(redact),
    files: files.map(file => ({ ...file, data: fileWithout(file.data, redact) })),
    graders: graders.map(grader => redactedJson(grader, redact)),
    metadata: redactedJson(metadata, redact),
    recorded: recorded?.map(call => redactedJson(call, redact)),
  }
}

/** As JSON, so that the names of members are seen as well. */
const redactedJson = <T>(value: T, redact: Redact): T => JSON.parse(redact(JSON.stringify(value))) as T

/** Bytes that are not text stay as they are. */
function fileWithout(data: string, redact: Redact): string {
  const bytes = Buffer.from(data, 'base64')
  const text = bytes.toString('utf8')
  const after = redact(text)
  return after === text || text.includes('\ufffd') ? data : Buffer.from(after).toString('base64')
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
